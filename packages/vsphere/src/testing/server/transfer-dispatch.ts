import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LoginDesk } from './login-policy.ts';
import { UploadReceiver, uploadTarget } from './nfc-leases.ts';
import type { TransferInterceptor } from './wire-call.ts';

/** Answers an upload to a lease, or refuses a download. */
export async function serveTransfer(
  desk: LoginDesk,
  intercept: TransferInterceptor | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const isUpload = request.method === 'PUT' || request.method === 'POST';
  const to = uploadTarget(desk.state, path);
  const call = {
    ...{ method: isUpload ? 'upload' : 'download', text: path, body: undefined, request, response },
    ...{ session: desk.sessionOf(request), lease: to?.lease },
  };
  const receive = async (pass: (body: AsyncIterable<Buffer>) => AsyncIterable<Buffer>): Promise<number> => {
    if (to === undefined) {
      for await (const _ of pass(request));
      return 404;
    }
    const receiver = new UploadReceiver(to.target);
    try {
      for await (const chunk of pass(request)) receiver.take(chunk);
      return isUpload ? 200 : 405;
    } finally {
      receiver.end();
    }
  };
  if (intercept === undefined) {
    response.writeHead(await receive((body) => body)).end();
    return;
  }
  await intercept(call, receive);
}
