// What the examples of several operations share.
import type { ErrorCode } from './errors.ts';

/** What can be wrong with any form. */
export const formErrors: ErrorCode[] = ['zu_langsam', 'zu_gross', 'falscher_inhaltstyp'];

/** A record of the account's own, or one that it may act on. */
export const own = { id: '1' };

export const unknown = { id: '999999999' };
