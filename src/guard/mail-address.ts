// What an address of a mailbox is: the one rule of interface, imports and commands, whose bounds the database holds too.
import { domainToASCII } from 'node:url';
import * as v from 'valibot';
import { shorten } from './text.ts';

const kind = 'eine E-Mail-Adresse';

/**
 * The address as mail servers take it (D1.23), with a domain of ASCII: both spellings of a domain with umlauts are one mailbox.
 * @returns or what is allowed instead
 */
export function readMailAddress(text: string): { address: string } | { allowed: string } {
  const allowed = (reason: string) => ({ allowed: `${kind}${reason}` });
  if (text.length > 254) return allowed(' mit höchstens 254 Zeichen');
  const [, local, given] = /^([^\s@]+)@([^\s@]+)$/.exec(text) ?? [];
  if (local === undefined || given === undefined) return allowed(' wie name@example.org');
  const letter = /[^\x21-\x7e]/u.exec(local)?.[0];
  if (letter !== undefined) return allowed(` ohne „${shorten(letter)}“ vor dem @, das viele Mailserver nicht annehmen`);
  const sign = /[^a-z0-9.!#$%&'*+/=?^_`{|}~-]/i.exec(local)?.[0];
  if (sign !== undefined) return allowed(` ohne „${sign}“ vor dem @`);
  if (/^\.|\.\.|\.$/.test(local)) return allowed(' ohne Punkt am Anfang, am Ende oder neben einem anderen vor dem @');
  // What the function would read as the end of a host, or decode, is none of a domain.
  const domain = /[^\0-\x7f]/.test(given) && /^[\p{L}\p{M}\p{N}.\u3002-]+$/u.test(given) ? domainToASCII(given) : given;
  const labels = domain.split('.');
  const isHost = labels.every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
  if (!isHost || labels.length < 2 || !/[a-z]/i.test(labels.at(-1) ?? ''))
    return allowed(' mit einer Domain wie example.org hinter dem @');
  const address = `${local}@${domain}`;
  return address.length > 254 ? allowed(' mit höchstens 254 Zeichen') : { address };
}

/** What somebody looks for: an address in its one spelling, anything else as it is. */
export function toMailAddress(text: string): string {
  const read = readMailAddress(text.trim());
  return 'address' in read ? read.address : text;
}

/** Becomes the address as mail servers take it; its message says what is allowed. */
export const mailAddress = v.pipe(
  v.string(),
  v.trim(),
  v.metadata({ format: 'email', maxLength: 254 }),
  v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
    const read = readMailAddress(value);
    if ('address' in read) return read.address;
    addIssue({ message: read.allowed });
    return NEVER;
  }),
);
