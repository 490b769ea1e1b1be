import type { CloudReply } from './cloud-server.ts';

/** What stands in an answer: members of an object are elements, members of a list are `item`. */
export type XmlValue =
  | string
  | number
  | boolean
  | undefined
  | readonly XmlValue[]
  | { readonly [name: string]: XmlValue };

/** An answer of a service that speaks the Query protocol. */
export function xml(root: string, namespace: string, content: XmlValue): CloudReply {
  return reply(200, `<${root} xmlns="${namespace}">${contentOf(content)}</${root}>`);
}

/** An error of EC2 (docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html). */
export function ec2Error(status: number, code: string, message: string): CloudReply {
  const errors = { Errors: { Error: { Code: code, Message: message } } };
  return reply(
    status,
    `<Response>${contentOf({ ...errors, RequestID: 'ea966190-f9aa-478e-9ede-example' })}</Response>`,
  );
}

/** An error of the other services (docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html). */
export function stsError(status: number, code: string, message: string): CloudReply {
  const content = { Error: { Type: 'Sender', Code: code, Message: message }, RequestId: 'c6104cbe-af31-11e0-example' };
  const namespace = 'https://sts.amazonaws.com/doc/2011-06-15/';
  return reply(status, `<ErrorResponse xmlns="${namespace}">${contentOf(content)}</ErrorResponse>`);
}

function reply(status: number, content: string): CloudReply {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n\n${content}`;
  return { status, body, headers: { 'content-type': 'text/xml;charset=UTF-8' } };
}

function contentOf(value: XmlValue): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return value.map((item: XmlValue) => `<item>${contentOf(item)}</item>`).join('');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, member]: [string, XmlValue]) =>
        member === undefined ? '' : `<${name}>${contentOf(member)}</${name}>`,
      )
      .join('\n');
  return String(value).replaceAll(/[&<>"']/g, (found) => `&#${found.codePointAt(0)};`);
}
