// Checks what a request carries against a schema, field by field.
import * as v from 'valibot';
import { hasLongRun, isStorable, maxMarks, toName } from '../../guard/text.ts';
import { listFeld } from '../../sichtbeobachtung-felder.ts';
import * as field from './fields.ts';
import { describeValue, type FieldProblems, PortalError, sentences } from './portal-error.ts';
import type { Parameters } from './query.ts';

// biome-ignore lint/suspicious/noExplicitAny: the entries of any object schema
export type Entries = Record<string, v.GenericSchema<any, any>>;
export type Output<E extends Entries> = v.InferOutput<v.ObjectSchema<E, undefined>>;

// What must not stand in an answer, not even to the one who sent it (S2.2).
const secretNames = new Set(['password', 'passwort']);

/** Characters (UTF-16) of a value, before anything else is done with it; its schema may allow fewer. */
export const maxValueLength = 2000;
const longValues: Record<string, number> = {
  // each character of two units, or of a letter and its mark
  ...Object.fromEntries(
    listFeld().flatMap(([name, feld]) => (feld.kind === 'text' ? [[name, Math.max(maxValueLength, 4 * feld.maxLength)]] : [])),
  ),
  // as much as a request line holds
  restrict: 16_000,
  // what nobody can have is a wrong one, however long (D2.9)
  loginname: 128 * 1024,
  password: 128 * 1024,
};

/** Parameters of reads. */
export const restrictFields = { restrict: v.optional(v.string()) };

/** Parameters of lists. */
export const pageFields = {
  ...restrictFields,
  limit: v.optional(field.integer(1, 1000), '100'),
  cursor: v.optional(v.string()),
};

/** Filters whose empty value means "any": a form that is sent with its fields left blank. */
export const textFilter = v.optional(
  v.pipe(
    v.string(),
    v.maxLength(500, 'ein Text mit höchstens 500 Zeichen'),
    v.transform((value) => (value === '' ? undefined : toName(value))),
  ),
);

/**
 * Checks the parameters of a request. Unknown names are ignored (D1.5); a name sent twice, and a value outside its type
 * or range, is an error that names it (D1.6).
 * @throws PortalError `ungueltiger_parameter` with one sentence per field
 */
export function checkInput<E extends Entries>(parameters: Parameters, schema: v.ObjectSchema<E, undefined>): Output<E> {
  const values: Record<string, string> = {};
  const problems: FieldProblems = {};
  for (const name in schema.entries) {
    const [value, ...more] = parameters.get(name) ?? [];
    if (value === undefined) continue;
    const maxLength = longValues[name] ?? maxValueLength;
    if (more.length > 0) problems[name] = sentences.twice(name);
    // Before everything that takes longer with the length: patterns, normal forms, escaping.
    else if (value.length > maxLength) problems[name] = sentences.tooLong(name, maxLength);
    else if (!isStorable(value)) problems[name] = sentences.unreadable(name);
    else if (hasLongRun(value)) problems[name] = sentences.tooManyMarks(name, maxMarks);
    else values[name] = value;
  }
  const result = v.safeParse(schema, values);
  for (const issue of result.issues ?? []) {
    const name = String(issue.path?.[0]?.key);
    if (problems[name]) continue;
    const got = values[name];
    if (got === undefined) problems[name] = sentences.missing(name, describeAllowed(schema.entries[name]));
    else if (got.trim() === '') problems[name] = sentences.empty(name, issue.message);
    else problems[name] = describeValue(name, secretNames.has(name) ? '…' : got, issue.message);
  }
  if (Object.keys(problems).length > 0) throw new PortalError('ungueltiger_parameter', problems);
  return result.output as Output<E>;
}

// A value that is missing has no issue of its own schema: ask it what it would have said to an empty one, or to none.
// Null for a schema that takes any text.
function describeAllowed(schema: Entries[string] | undefined): string | null {
  for (const nothing of ['', undefined]) {
    const issue = schema && v.safeParse(schema, nothing).issues?.[0];
    if (issue) return issue.message === field.anyText ? null : issue.message;
  }
  return null;
}
