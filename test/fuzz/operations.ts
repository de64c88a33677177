// Requests made from the service's own description: within its bounds, and just or far outside of them.
import type { Dice } from '../support/dice.ts';
import { type Content, credentialsOf } from './encode.ts';
import { type Body, type FormField, makeBody } from './forms.ts';
import type { Draft } from './plan.ts';
import type { Shot } from './send.ts';
import type { Account } from './site.ts';
import { makeBroken, makeValid, type Value, writePair } from './values.ts';
import { type Field, type Operation, tenantHosts, type World } from './world.ts';

// What registers, mails and logs in is limited for each network: seldom, so that not all of it is refused.
const rare = /^(register|registerPerFormular|passwort|login|loginPerFormular|logout)$/;
/** A request for one operation. */
export function draftOperation(dice: Dice, world: World): Draft {
  let operation = dice.pick(world.operations);
  while (rare.test(operation.operationId) && dice.chance(0.8)) operation = dice.pick(world.operations);
  return draftOf(dice, world, operation);
}

/** A request that carries a form. */
export function draftForm(dice: Dice, world: World): Draft {
  const forms = world.operations.filter(({ form }) => form !== null);
  return draftOf(dice, world, dice.pick(forms));
}

function draftOf(dice: Dice, world: World, operation: Operation): Draft {
  const notes: string[] = [];
  // Half of the requests are as they should be: what is refused at once never reaches the rest of the service.
  let violations = dice.pick([0, 0, 1, 1, 1, 2]);
  const isBroken = (share: number) => violations > 0 && dice.chance(share) && violations-- > 0;

  const method = operation.method;
  const account = pickAccount(dice, world, operation);
  const path = operation.path.replace(/\{(\w+)\}/, () => makePathPart(dice, world, operation, notes, isBroken(0.2)));
  const query = makeQuery(dice, world, operation, notes, () => isBroken(0.5));
  const headers: [string, Content][] = [['Host', makeHost(dice, notes, isBroken(0.1))]];
  headers.push(...credentialsOf(account).map(([name, value]): [string, Content] => [name, value]));
  for (const field of operation.parameters.filter((parameter) => parameter.in === 'header')) {
    if (field.required || dice.chance(0.4)) headers.push([field.name, makeValid(dice, field, world)]);
  }
  if (isBroken(0.4)) breakHeaders(dice, headers, notes);
  let body: Body | null = null;
  if (operation.form) {
    const fields = makeFields(dice, world, operation.form, notes, () => isBroken(0.6));
    body = makeBody(dice, fields, notes, isBroken(0.5));
    if (body.type !== null) headers.push(['Content-Type', body.type]);
  }
  if (operation.path.startsWith('/medien') && dice.chance(0.5)) headers.push(['Range', makeRange(dice)]);

  let sentMethod = method;
  if ((method === 'PUT' || method === 'DELETE') && dice.chance(0.2)) {
    headers.push(['X-HTTP-Method-Override', dice.pick([method, method, method.toLowerCase(), 'PATCH', 'GET', ''])]);
    sentMethod = 'POST';
  } else if (method === 'GET' && dice.chance(0.08)) sentMethod = dice.pick(['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'QUERY']);
  const shot: Shot = {
    method: sentMethod,
    target: `/api/v2${path}${query === '' ? '' : `?${query}`}`,
    headers,
    ...(body && { body: body.bytes }),
    ...(body?.chunks && { chunks: body.chunks }),
  };
  return { kind: `operation ${operation.operationId}`, note: notes.join('; '), shots: [shot] };
}

function pickAccount(dice: Dice, world: World, { path, operationId }: Operation): Pick<Account, 'loginname' | 'token'> | null {
  if (operationId === 'logout') return dice.chance(0.8) ? dice.pick(world.spareTokens) : null;
  const { reporter, neighbour, expert, restricted, administrator } = world.roles;
  if (path.startsWith('/nutzer')) return dice.pick([null, administrator, administrator, ...world.throwaways.slice(1, 4)]);
  return dice.pick([null, null, null, reporter, reporter, neighbour, expert, restricted, administrator]);
}

// Accounts that others need are never changed, and neither is the witness's record.
function makePathPart(dice: Dice, world: World, { path }: Operation, notes: string[], isBroken: boolean): string {
  const good = path.includes('{name}')
    ? (dice
        .pick(world.media.length > 0 ? world.media : ['/medien/x'])
        .split('/')
        .at(-1) ?? '')
    : path.startsWith('/nutzer')
      ? String(dice.pick(world.throwaways).id)
      : path.startsWith('/arten')
        ? String(1 + dice.below(720))
        : String(dice.pick(world.records));
  if (!isBroken) return good;
  notes.push('path');
  return dice.pick([
    ...['0', '-1', '99999999', '999999999999999999999', `0${good}`, `${good}/`, `${good};a=b`, `${good}%00`, `%20${good}`],
    ...['%', '%ff', '..%2f..%2f', '%2e%2e', '%F0%9F%98%80', 'null', '1e0', '__proto__', 'x'.repeat(5000)],
  ]);
}

function makeQuery(dice: Dice, world: World, operation: Operation, notes: string[], isBroken: () => boolean): string {
  const fields = operation.parameters.filter((parameter) => parameter.in === 'query');
  const isChosen = (field: Field) => {
    if (field.required) return true;
    // A cursor belongs to one query; JSONP and XML exclude each other.
    return dice.chance(field.name === 'callback' || field.name === 'cursor' ? 0.07 : field.name === 'limit' ? 0.5 : 0.16);
  };
  if (operation.operationId === 'listSichtbeobachtungen' && dice.chance(0.12)) return dice.pick(world.nexts).split('?')[1] ?? '';
  const pairs = fields
    .filter(isChosen)
    // Each costs the database up to half a second, and they are limited.
    .filter(({ name }) => name !== 'name_regexp_ci' || dice.chance(0.5))
    .map((field) => ({ field, value: { text: makeValid(dice, field, world) } as Value }));
  if (fields.length > 0 && isBroken()) {
    const field = dice.pick(fields);
    const pair = pairs.find((other) => other.field === field);
    const kind = dice.pick(['value', 'value', 'value', 'value', 'twice', 'missing', 'many', 'names']);
    if (kind === 'value') {
      const { value, note } = makeBroken(dice, field);
      notes.push(note);
      if (pair) pair.value = value;
      else pairs.push({ field, value });
    } else if (kind === 'missing' && pair) {
      notes.push(`${field.name} missing`);
      pairs.splice(pairs.indexOf(pair), 1);
    } else if (kind === 'many') {
      notes.push('thousands of parameters');
      return `${'a&'.repeat(dice.pick([1000, 5000]))}${'b=1&'.repeat(1000)}${write(pairs)}`;
    } else if (kind === 'names') {
      notes.push('odd names');
      return `${write(pairs)}&${dice.pick(['__proto__=1&constructor=2', '=1&=2&&&', '%00=1', '%ff=%ff', 'format[]=xml', 'limit.=1', '&'.repeat(3000), '='.repeat(3000), 'limit=1;limit=2', '?', '#a'])}`;
    } else {
      notes.push(`${field.name} twice`);
      pairs.push(
        { field, value: { text: makeValid(dice, field, world) } },
        { field, value: { text: makeValid(dice, field, world) } },
      );
    }
  }
  return write(pairs);
}

const write = (pairs: readonly { field: Field; value: Value }[]) =>
  pairs.map(({ field, value }) => writePair(field.name, value)).join('&');

function makeFields(dice: Dice, world: World, form: readonly Field[], notes: string[], isBroken: () => boolean): FormField[] {
  const sent = form.filter((field) => field.required || dice.chance(isFile(field) ? 0.05 : 0.4));
  const fields: FormField[] = sent.map((field) => ({
    name: field.name,
    value: { text: isFile(field) ? '' : makeValid(dice, field, world) },
  }));
  const texts = form.filter((field) => !isFile(field));
  if (texts.length > 0 && isBroken()) {
    const field = dice.pick(texts);
    const { value, note } = makeBroken(dice, field);
    notes.push(note);
    const at = fields.findIndex(({ name }) => name === field.name);
    fields.splice(at < 0 ? fields.length : at, at < 0 ? 0 : 1, { name: field.name, value });
    if (dice.chance(0.1)) fields.push({ name: field.name, value });
  }
  return fields;
}

const isFile = ({ schema }: Field) => schema.format === 'binary';

function makeHost(dice: Dice, notes: string[], isBroken: boolean): Content {
  if (!isBroken) return dice.pick([...tenantHosts, 'localhost', 'localhost']);
  notes.push('Host');
  return dice.pick<Content>([
    ...['nirgends.example', '', 'localhost:99999', 'localhost:', 'a b', 'localhost, he.localhost', '[::1', 'localhost/..'],
    ...[`${'a.'.repeat(4000)}x`, 'localhost@evil.example', 'LOCALHOST:80:80', 'xn--zckzah', '%00', '0', '-', '127.1'],
    ...[Buffer.from([0xe4, 0xff]), `localhost${'.'.repeat(5000)}`],
  ]);
}

function makeRange(dice: Dice): string {
  return dice.pick([
    ...['bytes=0-0', 'bytes=-1', 'bytes=5-', 'bytes=0-99999999', 'bytes=9-1', 'bytes=a-b', 'bytes=0-0,2-3', 'items=0-1'],
    ...[`bytes=${'0-0,'.repeat(3000)}`, 'bytes=99999999-', 'bytes=--1', `bytes=0-${'9'.repeat(400)}`],
  ]);
}

function breakHeaders(dice: Dice, headers: [string, Content][], notes: string[]): void {
  const marks = (count: number) => `a${'\u0301\u0323'.repeat(count)}`;
  const [note, ...added] = dice.pick<[string, ...[string, Content][]]>([
    ['marks in X-Auth-User', ['X-Auth-User', marks(dice.pick([50, 1000, 3500]))], ['X-Auth-Token', 'x']],
    ['marks in X-Auth-User', ['X-Auth-User', marks(3500)], ['X-Auth-Token', 'x']],
    ['no UTF-8 in X-Auth-User', ['X-Auth-User', Buffer.from([0xff, 0xe4, 0x80])], ['X-Auth-Token', 'x']],
    ['long X-Auth-Token', ['X-Auth-User', 'chef'], ['X-Auth-Token', 'x'.repeat(12_000)]],
    ['credentials twice', ['X-Auth-User', 'chef'], ['X-Auth-User', 'chef'], ['X-Auth-Token', 'x'], ['X-Auth-Token', 'y']],
    ['half credentials', ['X-Auth-Token', 'x']],
    ['long If-None-Match', ['If-None-Match', '"x", '.repeat(2800)]],
    ['broken If-None-Match', ['If-None-Match', dice.pick(['"', 'W/', ',,,', '"a"b"', '\\"'])]],
    ['forwarded', ['X-Forwarded-Host', 'he.localhost'], ['X-Forwarded-For', '1.2.3.4, ::'], ['X-Forwarded-Proto', 'gopher']],
    ['Accept', ['Accept', '*/*;q=0.0001,'.repeat(900)], ['Accept-Encoding', 'gzip;q=x, br, identity;q=0']],
    ['Content-Type of a GET', ['Content-Type', `multipart/form-data; boundary=${'x'.repeat(9000)}`]],
    ['Expect', ['Expect', '100-continue']],
    ['override', ['X-HTTP-Method-Override', dice.pick(['DELETE', 'PUT', 'TRACE', 'put, delete', '\t'])]],
    ['Origin', ['Origin', 'null'], ['Access-Control-Request-Method', 'X'.repeat(5000)]],
    ['Cookie', ['Cookie', 'a=b; '.repeat(2500)]],
    ['Date', ['If-Modified-Since', 'gestern'], ['If-Range', '"'], ['If-Match', '*']],
    ['Content-Encoding', ['Content-Encoding', 'gzip']],
  ]);
  notes.push(note);
  headers.push(...added);
}
