// Tells recorders by mail what was asked and decided (O6). Every minute what is due is put into the queue of mails, in the transaction that
// marks it; what the mail says is read when it is sent.
import type { KeyObject } from 'node:crypto';
import type { Sql } from '../db/client.ts';
import { listMandant } from '../db/mandant.ts';
import {
  createSichtbeobachtungLink,
  deleteMitteilung,
  type Entschieden,
  getMitteilung,
  haeufigkeitWorte,
  handOnFrage,
  listMitteilungFaellig,
  setMitteilungMail,
} from '../db/mitteilung.ts';
import type { MailNutzer } from '../db/nutzer.ts';
import { makeAbmeldung } from '../guard/abmeldung.ts';
import { makeToken } from '../guard/token.ts';
import { type Boss, ensureQueue, type FrageJob, type MitteilungJob } from './boss.ts';

const queue = 'mitteilungen';
/** Records that a mail names; also how many questions api.set_mitteilung_mail takes for one. */
const maxLines = 50;

export interface MitteilungOptions {
  /** Address of a tenant, with {domain}. */
  publicUrl: string;
  /** Abbreviation of the tenant in whose name mails about records outside of all tenants are sent. */
  defaultTenant: string | null;
}

/** Looks every minute. */
export async function workMitteilung(boss: Boss, sql: Sql, options: MitteilungOptions): Promise<void> {
  await ensureQueue(boss.boss, queue, { retryLimit: 0, expireInSeconds: 3600 });
  await boss.boss.work(queue, async () => enqueueMitteilungen(boss, sql, options));
  await boss.boss.schedule(queue, '* * * * *');
}

/** Puts into the queue of mails what is due. */
export async function enqueueMitteilungen(
  boss: Pick<Boss, 'enqueueMail'>,
  sql: Sql,
  { publicUrl, defaultTenant }: MitteilungOptions,
): Promise<void> {
  const faellig = await listMitteilungFaellig(sql);
  if (faellig.length === 0) return;
  const mandanten = (await listMandant(sql)).filter(({ domains }) => domains.length > 0);
  const originOf = (id: number | null) => {
    const { domains: [domain = 'localhost'] = [], name = 'Artenportal' } =
      mandanten.find((mandant) => mandant.id === id) ??
      mandanten.find(({ kuerzel }) => kuerzel.toLowerCase() === defaultTenant?.toLowerCase()) ??
      mandanten[0] ??
      {};
    return { origin: publicUrl.replaceAll('{domain}', domain), portal: name };
  };
  for (const nutzerId of faellig)
    await sql.begin(async (tx) => {
      const taken = await setMitteilungMail(tx, nutzerId);
      if (taken) await boss.enqueueMail(tx, { kind: 'mitteilung', nutzerId, mail: taken.mail, ...originOf(taken.mandantId) });
    });
}

/** A mail as it is sent. */
export interface Mail {
  subject: string;
  text: string;
  headers?: Record<string, string>;
  /** What is to be done once it is sent. */
  sent?: () => Promise<void>;
}

const words: Record<Entschieden, string> = { freigegeben: 'freigegeben', hinweis: 'mit Hinweis', abgelehnt: 'abgelehnt' };

// Never the species of a protected record: mails pass through foreign hands.
const describe = (art: string | null, datum: string) =>
  art === null ? `eine geschützte Beobachtung vom ${datum}` : `${art}, ${datum}`;

/** @returns null when there is nothing to say any more, or the account's address was changed since */
export async function composeMitteilung(
  sql: Sql,
  job: FrageJob | MitteilungJob,
  recipient: MailNutzer,
  key: KeyObject,
): Promise<Mail | null> {
  const { portal, origin, nutzerId } = job;
  if (job.kind === 'frage') {
    await handOnFrage(sql, nutzerId, job.sichtbeobachtung);
    return null;
  }
  const told = await getMitteilung(sql, nutzerId, job.mail, maxLines);
  const links = told?.eintraege.map(({ id }) => ({ id, ...makeToken() })) ?? [];
  const sent = () => deleteMitteilung(sql, nutzerId, job.mail);
  if (!told || !(await createSichtbeobachtungLink(sql, nutzerId, recipient.email, links))) {
    await sent();
    return null;
  }
  const tokens = new Map(links.map(({ id, token }) => [id, token]));
  const abmeldung = `${origin}/pruefung/v1/mitteilungen/abmelden/${makeAbmeldung(key, nutzerId)}`;
  const counts = (Object.keys(words) as Entschieden[]).flatMap((status) => {
    const count = told.anzahl[status];
    return count === undefined ? [] : `${count} ${words[status]}`;
  });
  const fragen = told.fragen === 0 ? '' : told.fragen === 1 ? ' Eine Frage ist offen.' : ` ${told.fragen} Fragen sind offen.`;
  const rest = Object.values(told.anzahl).reduce((sum, count) => sum + count, 0) - told.eintraege.length;
  return {
    subject: `${portal}: ${told.fragen > 0 ? 'Fragen' : 'Neues'} zu Ihren Beobachtungen`,
    text: [
      `Guten Tag ${recipient.name},`,
      `über Ihre Beobachtungen wurde entschieden: ${counts.join(', ')}.${fragen}`,
      ...told.eintraege.map(({ id, art, datum, status, frage }) =>
        [
          `${describe(art, datum)}: ${words[status]}`,
          ...(frage === null ? [] : [frage]),
          `${origin}/pruefung/v1/beobachtung/${tokens.get(id)}`,
        ].join('\n'),
      ),
      ...(rest > 0 ? [`Und ${rest} weitere.`] : []),
      'Mit den Adressen sehen Sie 30 Tage lang die Beobachtung, und können antworten, wo ein Hinweis steht.',
      `Sie bekommen solche Mails ${haeufigkeitWorte[told.haeufigkeit]}, und einige Minuten nach einer Frage. Keine mehr: ${abmeldung}`,
    ].join('\n\n'),
    headers: { 'List-Unsubscribe': `<${abmeldung}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
    sent,
  };
}
