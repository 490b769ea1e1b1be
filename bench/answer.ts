import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** The other end of a `Worker`: runs each job of stdin, one at a time, and answers it on stdout. */
export async function answerJobs<Job>(run: (job: Job) => Promise<unknown>): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const answer = await run(JSON.parse(line) as Job).catch((error: unknown) => ({ error: String(error) }));
    console.log(JSON.stringify(answer));
  }
}

/** User and system time of this process so far, in seconds. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** A line of `/proc/self/status` in 10^6 bytes. VmHWM is the high-water mark; unlike `ru_maxrss` it does not begin with that of the parent. */
export function memoryMB(line: 'VmHWM' | 'VmRSS'): number {
  const kibibytes = new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return (Number(kibibytes) * 1024) / 1e6;
}
