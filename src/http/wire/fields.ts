// The kinds of values that the interface takes, as valibot schemas. A schema's messages say what is allowed; the
// sentence around it is made in portal-error.ts. What is a string on the wire but a number or a truth value for its user says so in
// its metadata, which http/openapi turns into the interface's document.
import * as v from 'valibot';
import { hasAtMost, toIsoDate, toName } from '../../guard/text.ts';

export const anyText = 'ein Text';
const trimmed = v.pipe(v.string(), v.trim());
const composed = v.pipe(v.string(), v.normalize('NFC'));
const line = v.pipe(composed, v.trim());
const nameLine = v.pipe(v.string(), v.transform(toName));
/** A name that is looked for; never empty. */
export const text = (allowed = anyText) =>
  v.pipe(nameLine, v.minLength(1, allowed), v.maxLength(500, `${allowed} mit höchstens 500 Zeichen`));

/** Text of so many characters, NFC; never empty. */
export const characters = (max: number) => {
  const allowed = `ein Text mit höchstens ${max} Zeichen`;
  return v.pipe(
    composed,
    v.minLength(1, allowed),
    v.metadata({ maxLength: max }),
    v.check((value) => hasAtMost(value, max), allowed),
  );
};

export const integer = (min: number, max: number) => {
  const allowed = `eine ganze Zahl von ${min} bis ${max}`;
  return v.pipe(
    trimmed,
    v.regex(/^[+-]?\d{1,15}$/, allowed),
    v.metadata({ type: 'integer', minimum: min, maximum: max }),
    v.transform(Number),
    v.minValue(min, allowed),
    v.maxValue(max, allowed),
  );
};

/** Ids of groups, species, stages … */
export const id = integer(0, 2147483647);

export const double = (allowed = 'eine Zahl') =>
  v.pipe(
    trimmed,
    v.maxLength(40, allowed),
    // No two parts of it can match the same digits: otherwise a long number that is none takes the square of its length.
    v.regex(/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i, allowed),
    v.metadata({ type: 'number', format: 'double' }),
    v.transform(Number),
    v.finite(allowed),
  );

/** D1.2: true and false in any case, 1 and 0; anything else is an error, never false. */
export const boolean = v.pipe(
  trimmed,
  v.toLowerCase(),
  v.metadata({ type: 'boolean' }),
  v.picklist(['true', 'false', '1', '0'], 'true oder false'),
  v.transform((value) => value === 'true' || value === '1'),
);

/** D1.3: T.M.JJJJ, a day that exists; becomes YYYY-MM-DD. */
export const date = v.pipe(
  trimmed,
  v.metadata({ pattern: '^\\d{1,2}\\.\\d{1,2}\\.\\d{4}$', examples: ['01.09.2026'] }),
  v.check((value) => readDate(value) !== null, 'ein Tag, den es gibt, als TT.MM.JJJJ'),
  v.transform((value) => readDate(value) ?? ''),
);

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  v.picklist(values, values.length === 1 ? values[0] : `${values.slice(0, -1).join(', ')} oder ${values.at(-1)}`);

/** Status of a sighting in the words of the input (D2.14). */
export const status = oneOf(['freigegeben', 'pruefung', 'hinweis', 'abgelehnt']);

/** left, bottom, right, top in EPSG:25832 (metres). */
export const bbox = (() => {
  const allowed = 'links,unten,rechts,oben: vier Zahlen in EPSG:25832 mit links < rechts und unten < oben';
  return v.pipe(
    v.string(),
    v.metadata({ pattern: '^[^,]+(,[^,]+){3}$', examples: ['400000,5500000,452000,5560000'] }),
    v.transform((value) => value.split(',', 5)),
    v.length(4, allowed),
    v.array(double(allowed)),
    v.check(([left = 0, bottom = 0, right = 0, top = 0]) => left < right && bottom < top, allowed),
  );
})();

function readDate(value: string): string | null {
  const [, day, month, year] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(value)?.map(Number) ?? [];
  return day === undefined || month === undefined || year === undefined ? null : toIsoDate(year, month, day);
}

const isPlain = (value: string) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value);

/** One line of text for a name. */
export const name = (allowed: string) =>
  v.pipe(nameLine, v.minLength(1, allowed), v.maxLength(100, `${allowed} mit höchstens 100 Zeichen`), v.check(isPlain, allowed));

/** Letters, digits, spaces and . - ' _ (api-v2 GET /register); nothing invisible, so that two names that look alike are rare. */
export const loginname = (() => {
  const allowed = "ein Name aus Buchstaben, Ziffern, Leerzeichen und . - ' _ mit höchstens 60 Zeichen";
  return v.pipe(
    line,
    v.regex(/^[\p{L}\p{M}\p{N} .'_-]{1,60}$/u, allowed),
    v.check((value) => !/\p{Default_Ignorable_Code_Point}/u.test(value) && /[\p{L}\p{N}]/u.test(value), allowed),
  );
})();

/** 0 or 1. */
export const flag = v.pipe(
  trimmed,
  v.metadata({ type: 'integer', enum: [0, 1] }),
  v.picklist(['0', '1'], '0 oder 1'),
  v.transform(Number),
);

/** D1.22 */
export const portalName = v.pipe(
  nameLine,
  v.metadata({ maxLength: 200 }),
  v.check((value) => value.length <= 200 && isPlain(value), 'ein Name mit höchstens 200 Zeichen'),
  v.transform((value) => (value === '' ? null : value)),
);

export const portalUrl = v.pipe(
  trimmed,
  v.metadata({ maxLength: 200, format: 'uri' }),
  v.check(
    (value) => value === '' || (value.length <= 200 && isPlain(value) && /^https?:\/\//i.test(value) && URL.canParse(value)),
    'eine Adresse mit http oder https und höchstens 200 Zeichen',
  ),
  v.transform((value) => (value === '' ? null : value)),
);

/** A field that is cleared when it is sent empty. */
export const orEmpty = <S extends v.GenericSchema<string, unknown>>(schema: S) => emptyAs(schema, null);

/** A field that stands for something when it is sent empty. */
export const emptyAs = <S extends v.GenericSchema<string, unknown>, const D extends v.InferOutput<S> | null>(
  schema: S,
  fallback: D,
) => {
  const nothing = v.pipe(
    v.literal(''),
    v.transform(() => fallback),
  );
  // A union has no message of its own for a value that fits none of its options: pass on that of the schema.
  const say = ({ input }: { input: unknown }) => v.safeParse(schema, input).issues?.[0].message ?? '';
  return v.pipe(v.union([nothing, schema], say), v.metadata({ empty: fallback }));
};

/** Values with commas between them, each once; empty = none. */
export const listOf = <S extends v.GenericSchema<string, unknown>>(schema: S, allowed: string) =>
  v.pipe(
    v.string(),
    v.transform((value) => value.split(',').flatMap((part) => part.trim() || [])),
    v.maxLength(200, allowed),
    v.check((parts) => parts.every((part) => v.is(schema, part)), allowed),
    v.transform((parts) => [...new Set(parts)].map((part) => v.parse(schema, part))),
  );

/** Abbreviation of a tenant, as catalogues have it. */
export const kuerzel = v.pipe(v.string(), v.regex(/^[\p{L}\p{N}_-]{1,20}$/u, '1 bis 20 Buchstaben und Ziffern'));

/** SHA-1 of a password. Its value is a secret: input.ts never repeats it. */
export const sha1 = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f]{40}$/i, 'der SHA-1 des neuen Passworts: 40 Hexadezimalziffern'),
  v.metadata({ pattern: '^[0-9A-Fa-f]{40}$' }),
);
