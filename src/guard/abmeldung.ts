// The address in a mail by which its recipient wants no more of them (RFC 8058). Signed instead of stored: those of old mails stay good.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';

export const makeAbmeldung = (key: KeyObject, nutzerId: number): string =>
  `${nutzerId}-${createHmac('sha256', key).update(`abmeldung ${nutzerId}`).digest('base64url')}`;

/** The account that it is for; null for one that was made up. */
export function readAbmeldung(key: KeyObject, text: string): number | null {
  const [, id] = /^(\d{1,15})-[\w-]{43}$/.exec(text) ?? [];
  if (id === undefined) return null;
  return timingSafeEqual(Buffer.from(makeAbmeldung(key, Number(id))), Buffer.from(text)) ? Number(id) : null;
}
