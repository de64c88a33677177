// The query of a request, and the format of its answer that it asks for.
import * as v from 'valibot';
import * as field from './fields.ts';
import { checkInput } from './input.ts';
import { PortalError, sentences } from './portal-error.ts';
import { type Parameters, parseQuery } from './query.ts';

/** Parameters that every operation takes. */
export const formatFields = {
  format: v.optional(field.oneOf(['json', 'xml']), 'json'),
  callback: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(64, 'der Name einer JavaScript-Funktion mit höchstens 64 Zeichen'),
      v.regex(/^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$/, 'der Name einer JavaScript-Funktion'),
    ),
  ),
};
const formatSchema = v.object(formatFields);

export interface Format {
  format: 'json' | 'xml';
  callback: string | null;
}

/** What is answered in when nobody asks for anything else. */
export const plainJson: Format = { format: 'json', callback: null };

/** What a request's address asks for: parsed once, its format checked once. */
export class Query {
  readonly parameters: Parameters;
  #format: Format | null = null;

  constructor(query: string) {
    this.parameters = parseQuery(query);
  }

  /** @throws PortalError for an unknown format, a bad callback, or both together (D1.6 to D1.8) */
  get format(): Format {
    this.#format ??= readFormat(this.parameters);
    return this.#format;
  }
}

function readFormat(parameters: Parameters): Format {
  if (!parameters.has('format') && !parameters.has('callback')) return plainJson;
  const { format, callback } = checkInput(parameters, formatSchema);
  if (format === 'xml' && callback !== undefined) {
    throw new PortalError('ungueltiger_parameter', { callback: sentences.formatWithCallback });
  }
  return { format: format as Format['format'], callback: callback ?? null };
}
