import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

/** What the body of a test in a thread may say of itself. */
export interface ThreadContext {
  /** See `TestContext.diagnostic`. */
  diagnostic(text: string): void;
}

/** Declares a test whose body runs in the thread of its file. Titles are unique in a file. */
export type ThreadTest = (title: string, body: (context: ThreadContext) => Promise<unknown>) => void;

interface Answer {
  readonly said: readonly string[];
  readonly error?: unknown;
}

/**
 * Tests of one file, `import.meta.url`, that run one after another in a worker thread. node:test follows every promise of its own thread, which costs an exploration of hundreds of
 * thousands of calls a third of its time; and it does nothing in a thread that declares no test. The file is loaded a second time there, with the same declarations.
 */
export function threadTests(file: string): ThreadTest {
  return isMainThread ? declare(file) : serve();
}

/** In the thread: keeps the bodies, and plays those that it is told to. */
function serve(): ThreadTest {
  const bodies = new Map<string, Parameters<ThreadTest>[1]>();
  const play = async (title: string): Promise<Answer> => {
    const said: string[] = [];
    try {
      const body = bodies.get(title);
      if (body === undefined) throw new TypeError(`the thread has no test "${title}"`);
      await body({ diagnostic: (text) => void said.push(text) });
      return { said };
    } catch (error) {
      return { said, error };
    }
  };
  parentPort?.on('message', (title: string) => {
    void play(title).then((answer) => parentPort?.postMessage(answer));
  });
  return (title, body) => {
    if (bodies.has(title)) throw new TypeError(`two tests are named "${title}"`);
    bodies.set(title, body);
  };
}

/** Beside the thread: what node:test sees of it. */
function declare(file: string): ThreadTest {
  let worker: Worker | undefined;
  const ask = (title: string, signal: AbortSignal): Promise<Answer> => {
    worker ??= new Worker(fileURLToPath(file));
    const thread = worker;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const gone = (code: number): void => reject(new Error(`the thread of ${file} ended with ${code}`));
    const stop = (): void => {
      // It cannot be told to stop: the next test has another one.
      worker = undefined;
      void thread.terminate();
      reject(signal.reason);
    };
    thread.on('message', resolve).on('error', reject).on('exit', gone).ref();
    signal.addEventListener('abort', stop, { once: true });
    thread.postMessage(title);
    return promise.finally(() => {
      signal.removeEventListener('abort', stop);
      thread.off('message', resolve).off('error', reject).off('exit', gone).unref();
    });
  };
  return (title, _body) => {
    // Each exploration ends by itself.
    void test(title, { timeout: Number.POSITIVE_INFINITY }, async (t) => {
      const { said, error } = await ask(title, t.signal);
      for (const line of said) t.diagnostic(line);
      if (error !== undefined) throw error;
    });
  };
}
