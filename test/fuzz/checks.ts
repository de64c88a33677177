// Whether an answer is as every answer must be, whatever it was the answer to.
import { catalogue } from '../../src/http/wire/portal-error.ts';
import type { Answer, Outcome, Shot } from './send.ts';
import { findXmlProblem } from './xml-check.ts';

export interface Problem {
  kind: string;
  detail: string;
}

const fine = new Set([400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 416, 417, 421, 429, 431, 503]);
// A service that refuses a large body early resets the connection, and its answer may be lost with it.
const earlyRefusal = 60_000;
const resets = ['ECONNRESET', 'EPIPE'];

/** Everything that is wrong with what came back. */
export function checkOutcome(shot: Shot, outcome: Outcome): Problem[] {
  if ('status' in outcome) return checkAnswer(outcome, shot);
  const isRefused = resets.includes(outcome.code) && (shot.body?.length ?? 0) >= earlyRefusal;
  return isRefused ? [] : [{ kind: 'no answer', detail: `${outcome.code}: ${outcome.detail}` }];
}

function checkAnswer(answer: Answer, shot: Shot): Problem[] {
  const { status, body } = answer;
  const problems: Problem[] = [];
  const add = (kind: string, detail: string) => problems.push({ kind, detail });
  const text = body.toString();
  if (status >= 400 && !fine.has(status)) add(`status ${status}`, text.slice(0, 200));
  if ((status === 503 || status === 429) && !/^[1-9]\d*$/.test(answer.header('retry-after') ?? ''))
    add(`${status} without Retry-After`, text.slice(0, 200));
  for (const name of ['server', 'x-powered-by', 'via']) {
    if (answer.header(name) !== null) add('leak', `header ${name}`);
  }
  const type = answer.header('content-type') ?? '';
  // Of the documentation, as its package has them.
  const isAsset = /^(text\/javascript|text\/css|image\/png)/.test(type);
  const leak = isAsset ? null : findLeak(`${answer.head}\n${type.startsWith('image/') ? '' : text}`, shot);
  if (leak !== null) add('leak', leak);
  if (body.length === 0) {
    const isLogin = status === 200 && shot.target.includes('/login');
    // Where to go, or what range there is, stands in the headers; a HEAD has no body.
    const mayBeEmpty = isLogin || [204, 301, 302, 304, 416].includes(status) || shot.method === 'HEAD';
    if (!mayBeEmpty && !type.startsWith('audio/')) add('empty answer', `status ${status}`);
    return problems;
  }
  const malformed = findMalformed(answer, type, text);
  if (malformed !== null) add('malformed answer', `${malformed}: ${text.slice(0, 200)}`);
  return problems;
}

function findMalformed({ status, body }: Answer, type: string, text: string): string | null {
  if (/^(application\/json|text\/xml|application\/javascript|text\/html)/.test(type)) {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(body);
    } catch {
      return 'no UTF-8';
    }
  }
  if (type === 'application/json; charset=utf-8' || type === 'application/json') return findJsonProblem(text, status);
  if (type === 'application/javascript; charset=utf-8') {
    const [, json] = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*\((.*)\);$/s.exec(text) ?? [];
    if (json === undefined) return 'no call of a function';
    if (/[<\u2028\u2029]/.test(json)) return 'could act in a script';
    return findJsonProblem(json, status);
  }
  if (type === 'text/xml; charset=utf-8') {
    const problem = findXmlProblem(text);
    if (problem !== null || status < 400) return problem;
    const [, told, code] = /^<\?xml [^>]*\?><xml><error><status>(\d+)<\/status><code>(\w+)<\/code><message>/.exec(text) ?? [];
    return findErrorProblem(Number(told), code, status);
  }
  if (status < 400) return null;
  // Pages for people: the one on which a password is set, and what supervisors ask.
  return type.startsWith('text/html') || (type.startsWith('text/plain') && status === 503)
    ? null
    : `an error as ${type || 'nothing'}`;
}

function findJsonProblem(text: string, status: number): string | null {
  let value: { error?: { status?: unknown; code?: unknown; message?: unknown; fields?: unknown } };
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `no JSON (${error})`;
  }
  if (status < 400) return value.error === undefined ? null : 'an error with a status of success';
  const { error } = value;
  if (typeof error?.message !== 'string' || typeof error.fields !== 'object' || error.fields === null)
    return 'an error of another shape';
  return findErrorProblem(error.status, error.code, status);
}

function findErrorProblem(told: unknown, code: unknown, status: number): string | null {
  if (told !== status) return `the body says ${told}, the status ${status}`;
  const entry = Object.entries(catalogue).find(([name]) => name === code)?.[1];
  if (!entry) return `the code ${code} is not in the catalogue`;
  return entry.status === status ? null : `the code ${code} with ${status}`;
}

const leaks: readonly [what: string, pattern: RegExp][] = [
  ['a stack frame', /\n?\s+at (?:async )?[\w.<>[\] ]+ \(?[^\s()]*:\d+:\d+\)?/],
  ['a folder of packages', /node_modules|node:internal/],
  ['a source file', /[\w/-]+\.[cm]?ts:\d+/],
  [
    'a name in the database',
    /\b(?:portal|private|api|gis|pgboss)\.[a-z]+_[a-z_]+\b|\b(?:portal|private|pgboss)\.(?:nutzer|sichtbeobachtung|art|mandant|medium|job)\b/,
  ],
  ['a path of the machine', /(?:^|[\s"'(=:])\/(?:home|root|tmp|usr|var|opt|proc|work|etc|srv)\/[\w.-]+/],
  [
    'a message of the database',
    /violates \w+[ -]\w+ constraint|duplicate key value|syntax error at or near|invalid input syntax|invalid byte sequence|PostgresError|SQLSTATE|canceling statement|deadlock detected|relation "|column "|out of range for type|could not serialize/,
  ],
  ['an error of JavaScript', /\b(?:Type|Range|Reference|Syntax)Error\b|Cannot read propert|is not a function|ERR_[A-Z_]{4,}/],
];

// What the client sent itself may be repeated to it.
function findLeak(text: string, { target, headers, body = Buffer.alloc(0) }: Shot): string | null {
  for (const [what, pattern] of leaks) {
    const [found] = pattern.exec(text) ?? [];
    if (found === undefined) continue;
    const own = found.trim();
    const isRepeated = [target, ...headers.map(([, value]) => value), body].some((part) => part.includes(own));
    if (!isRepeated) return `${what}: ${JSON.stringify(found.slice(0, 100))}`;
  }
  return null;
}
