// The format of its answer that a request asks for.
import * as v from 'valibot';
import * as field from './fields.ts';
import { checkInput } from './input.ts';
import { PortalError, sentences } from './portal-error.ts';
import type { Parameters } from './query.ts';

/** Parameters that every operation takes. */
export const formatFields = {
  format: v.optional(field.oneOf(['json', 'xml']), 'json'),
  callback: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(64, 'der Name einer JavaScript-Funktion mit höchstens 64 Zeichen'),
      v.regex(/^[A-Za-z_$][\w$]*(\[\d{1,5}\])*(\.[A-Za-z_$][\w$]*(\[\d{1,5}\])*)*$/, 'der Name einer JavaScript-Funktion'),
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

/** @throws PortalError for an unknown format, a bad callback, or both together (D1.6 to D1.8) */
export function readFormat(parameters: Parameters): Format {
  if (!parameters.has('format') && !parameters.has('callback')) return plainJson;
  const { format, callback } = checkInput(parameters, formatSchema);
  if (format === 'xml' && callback !== undefined) {
    throw new PortalError('ungueltiger_parameter', { callback: sentences.formatWithCallback });
  }
  return { format: format as Format['format'], callback: callback ?? null };
}
