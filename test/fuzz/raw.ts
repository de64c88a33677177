// What is no HTTP, or hardly: written to the socket byte by byte.
import type { Dice } from '../support/dice.ts';
import type { Draft, Shot } from './plan.ts';
import type { World } from './world.ts';

const host = 'Host: localhost\r\n';
const path = '/api/v2/artengruppen?limit=1';

/** A broken or unusual request. */
export function draftRaw(dice: Dice, world: World): Draft {
  const record = `/api/v2/sichtbeobachtungen/${dice.pick(world.records)}`;
  const junk = (count: number) => String.fromCharCode(...Array.from({ length: count }, () => dice.below(256)));
  const get = `GET ${path} HTTP/1.1\r\n${host}\r\n`;
  const last = `GET ${path} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
  const post = (headers: string, body: string) =>
    `POST /api/v2/login HTTP/1.1\r\n${host}Content-Type: application/x-www-form-urlencoded\r\n${headers}\r\n${body}`;
  const form = 'loginname=niemand&password=x';

  const ways: [note: string, text: () => string, more?: Partial<Shot>][] = [
    ['noise', () => junk(1 + dice.below(3000))],
    ['UTF-8 in the request line', () => `GET /api/v2/arten?artengruppe=V\xc3\xb6gel HTTP/1.1\r\n${host}\r\n`],
    ['other versions', () => `GET ${path} HTTP/${dice.pick(['0.9', '2.0', '1.2', '9.9', '1', 'x', '1.1.1'])}\r\n${host}\r\n`],
    ['HTTP/1.0', () => `GET ${path} HTTP/1.0\r\n\r\n`],
    ['HTTP/1.0 that stays', () => `GET ${path} HTTP/1.0\r\n${host}Connection: keep-alive\r\n\r\n`, { methods: ['GET'] }],
    [
      'unknown methods',
      () =>
        `${dice.pick(['FOO', 'get', 'TRACE', 'CONNECT', 'PROPFIND', 'PURGE', 'M-SEARCH', 'SOURCE'])} ${path} HTTP/1.1\r\n${host}\r\n`,
    ],
    [
      'absolute target',
      () => `GET http://${dice.pick(['he.localhost', 'evil.example', '[', '%', 'a@b', ''])}${path} HTTP/1.1\r\n${host}\r\n`,
    ],
    [
      'odd targets',
      () =>
        `GET ${dice.pick(['*', '//', '///evil.example/', 'http:', '/%', '/\\', '?', '#', '/../../etc/passwd', '/api/v2/%2e%2e/', '/.;/', '//api/v2//arten', '/api/v2/arten/../arten', 'api', `/${'%2f'.repeat(3000)}`, `/${'a/'.repeat(6000)}`, '/api/v2/arten?%', '/metrics?x', '/health/live/..'])} HTTP/1.1\r\n${host}\r\n`,
    ],
    ['OPTIONS *', () => `OPTIONS * HTTP/1.1\r\n${host}\r\n`],
    ['no Host', () => `GET ${path} HTTP/1.1\r\n\r\n`],
    ['two Hosts', () => `GET ${path} HTTP/1.1\r\n${host}Host: he.localhost\r\n\r\n`],
    [
      'broken headers',
      () =>
        `GET ${path} HTTP/1.1\r\n${host}${dice.pick(['X\r\n', ': x\r\n', 'X : y\r\n', ' X: y\r\n', 'X: a\0b\r\n', 'X: a\rb\r\n', 'X\x01: y\r\n', '\x00\r\n', 'X: y\n', 'Ä: y\r\n', 'X: \x7f\r\n'])}\r\n`,
    ],
    ['huge header', () => `GET ${path} HTTP/1.1\r\n${host}X: ${'x'.repeat(dice.pick([15_000, 17_000, 300_000]))}\r\n\r\n`],
    ['many headers', () => `GET ${path} HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(dice.pick([500, 2500]))}\r\n`],
    [
      'broken length',
      () =>
        post(
          `Content-Length: ${dice.pick(['-1', 'x', '1e3', '99999999999999999999', '+5', '5, 5', '0x5', ' ', '5;'])}\r\n`,
          form,
        ),
    ],
    ['two lengths', () => post(`Content-Length: 28\r\nContent-Length: ${dice.pick(['28', '5'])}\r\n`, form)],
    ['length and chunks', () => post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `1c\r\n${form}\r\n0\r\n\r\n`)],
    ['length too short', () => post('Content-Length: 4\r\n', form)],
    [
      'broken chunks',
      () =>
        post(
          'Transfer-Encoding: chunked\r\n',
          dice.pick([
            'x\r\n',
            '-1\r\n',
            'fffffffffffffffff\r\n',
            '5\r\nab\r\n0\r\n\r\n',
            '1c\r\nloginname\r\n0\r\n\r\n',
            '0\r\nX: y\r\n\r\n',
            `5;${'x'.repeat(20_000)}\r\nabcde\r\n0\r\n\r\n`,
            '\r\n\r\n',
            '0x5\r\nabcde\r\n0\r\n\r\n',
            '5\nabcde\n0\n\n',
            `0\r\n${'T: x\r\n'.repeat(4000)}\r\n`,
          ]),
        ),
    ],
    [
      'odd codings',
      () =>
        post(
          `Transfer-Encoding: ${dice.pick(['gzip, chunked', 'chunked, identity', 'identity', 'Chunked ', 'xchunked', 'chunked, chunked', '\x0bchunked'])}\r\n`,
          `1c\r\n${form}\r\n0\r\n\r\n`,
        ),
    ],
    ['pipelined', () => `${get.repeat(dice.pick([1, 5, 60]))}${last}`],
    [
      'pipelined with HEAD',
      () => `HEAD ${path} HTTP/1.1\r\n${host}\r\nGET ${record} HTTP/1.1\r\n${host}\r\n${last}`,
      { methods: ['HEAD', 'GET', 'GET'] },
    ],
    [
      'raw UTF-8 in the address, pipelined',
      () => {
        const name = dice.pick(['H\xc3\xb6rnisse', '\xc3\x9f', '\xf0\x9f\xa6\x89']);
        const raw = `GET /api/v2/arten?limit=1&name_regexp_ci=${name} HTTP/1.1\r\n${host}\r\n`;
        return `${raw}${get}${raw}${last}`;
      },
      { methods: ['GET', 'GET', 'GET', 'GET'] },
    ],
    [
      'a body with GET',
      () => `GET ${path} HTTP/1.1\r\n${host}Content-Length: 28\r\nConnection: close\r\n\r\n${form}`,
      { methods: ['GET'] },
    ],
    [
      'a body with GET, then another',
      () => `GET ${path} HTTP/1.1\r\n${host}Content-Length: 28\r\n\r\n${form}${last}`,
      { methods: ['GET', 'GET'] },
    ],
    [
      'a body with DELETE',
      () => `DELETE /api/v2/sichtbeobachtungen/0 HTTP/1.1\r\n${host}Content-Length: 28\r\nConnection: close\r\n\r\n${form}`,
      { methods: ['DELETE'] },
    ],
    [
      'a body nobody reads, then another',
      () => `POST /api/v2/sichtbeobachtungen HTTP/1.1\r\n${host}Content-Length: 90000\r\n\r\n${'x'.repeat(90_000)}${last}`,
    ],
    [
      'Upgrade',
      () =>
        `GET ${path} HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: ${dice.pick(['websocket', 'h2c', 'x'])}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    ],
    [
      'Expect',
      () => post(`Content-Length: 28\r\nExpect: ${dice.pick(['100-continue', 'x', '200-ok'])}\r\nConnection: close\r\n`, form),
      { patienceMs: 3000 },
    ],
    ['half-closed', () => last, { methods: ['GET'] }],
    [
      'a page of documentation',
      () =>
        `GET /api/v2${dice.pick(['', '/', '/docs', '/swagger-ui.css', '/swagger-ui-bundle.js', '/openapi.json?format=xml', '/openapi.json'])} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
      { methods: ['GET'] },
    ],
    [
      'an unknown page',
      () =>
        `${dice.pick(['GET', 'POST', 'PUT', 'HEAD'])} ${dice.pick(['/', '/favicon.ico', '/api/v1/arten', '/api/v2/ARTEN', '/api/v2/konto/x', '/api/v2/medien/', '/health', '/metrics/'])} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    ],
  ];
  const [note, make, more] = dice.pick(ways);
  const bytes = Buffer.from(make(), 'latin1');
  const isHalfClosed = note === 'half-closed' || dice.chance(0.2);
  const shot: Shot = { bytes, methods: null, ...more, ...(isHalfClosed && { cut: { at: bytes.length, how: 'end' } }) };
  return { kind: 'raw', note, shots: [shot] };
}
