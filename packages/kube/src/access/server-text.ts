/** An address as errors and logs name it: without user and password, which it may have, and without a query. What is no URL of HTTP is not quoted at all. */
export function serverText(address: string): string {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'the server';
  return `${url.origin}${url.pathname === '/' ? '' : url.pathname}`;
}
