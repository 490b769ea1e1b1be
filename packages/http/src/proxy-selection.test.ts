import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProxy, proxyFromEnv } from './proxy-selection.ts';

const PROXY = 'http://proxy:3128';
const through = (noProxy: string, host: string): boolean =>
  proxyFromEnv(`https://${host}`, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy }) === PROXY;

test('NO_PROXY takes names, suffixes, addresses, CIDR blocks and ports, as Go reads them', () => {
  for (const [noProxy, direct, proxied] of [
    ['example.com', ['example.com', 'a.example.com', 'EXAMPLE.com:8443'], ['badexample.com', 'example.org']],
    ['.example.com', ['a.example.com', 'a.b.example.com'], ['example.com']],
    ['*.example.com', ['a.example.com'], ['example.com']],
    ['api.example.com:6443', ['api.example.com:6443'], ['api.example.com', 'api.example.com:443']],
    ['example.com:443', ['example.com', 'a.example.com'], ['example.com:8443']],
    ['10.0.0.0/8', ['10.1.2.3', '10.255.0.1:6443'], ['11.0.0.1', 'ten.example.com']],
    ['10.1.2.3', ['10.1.2.3', '10.1.2.3:6443'], ['10.1.2.30', '10.1.2.4']],
    ['10.1.2.3:6443', ['10.1.2.3:6443'], ['10.1.2.3']],
    ['fd00::/8', ['[fd00::1]', '[fd12::1]:6443'], ['[fe80::1]', '10.0.0.1']],
    ['fd00:0:0:0:0:0:0:1', ['[fd00::1]'], ['[fd00::2]']],
    ['[fd00::1]:6443', ['[fd00::1]:6443'], ['[fd00::1]']],
    [' a.example ,, b.example ', ['a.example', 'b.example'], ['c.example']],
    ['*', ['anything.example', '10.0.0.1', '[fd00::1]'], []],
    ['10.0.0.0/33,x/8,/,10.0.0.0/', [], ['10.0.0.1']],
    ['', [], ['example.com']],
  ] as const) {
    for (const host of direct) assert.equal(through(noProxy, host), false, `${host} with NO_PROXY=${noProxy}`);
    for (const host of proxied) assert.equal(through(noProxy, host), true, `${host} with NO_PROXY=${noProxy}`);
  }
});

test('loopback is reached directly, whatever the environment says', () => {
  for (const host of ['localhost', 'localhost:6443', '127.0.0.1', '127.8.9.10:443', '[::1]:6443', '[::ffff:127.0.0.1]'])
    assert.equal(through('', host), false, host);
});

test('each scheme has its proxy; the upper-case variable wins unless it is empty', () => {
  const env = { HTTPS_PROXY: 'secure:1', https_proxy: 'lower:1', http_proxy: 'http://plain:2', HTTP_PROXY: '' };
  assert.equal(proxyFromEnv('https://a.example', env), 'http://secure:1');
  assert.equal(proxyFromEnv('http://a.example', env), 'http://plain:2');
  assert.equal(proxyFromEnv('https://a.example', {}), undefined);
  assert.equal(proxyFromEnv('https://a.example', { ...env, no_proxy: 'a.example' }), undefined);
});

test('a proxy is an http, https or socks5 URL whose credentials can be decoded', () => {
  for (const good of ['http://p:1', 'https://u:p%40@p', 'socks5://p']) assert.equal(isProxy(good), true, good);
  for (const bad of ['ftp://p', 'http://', 'p', 'http://u:%zz@p']) assert.equal(isProxy(bad), false, bad);
});
