// Sends mails: by SMTP, or as files where no server is configured.
import { type KeyObject, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type { JobResult, JobWithMetadata } from 'pg-boss';
import { setNutzerDatenLink } from '../db/auskunft.ts';
import type { Sql } from '../db/client.ts';
import { setMailAbgelehnt } from '../db/mitteilung.ts';
import { getMailNutzer, type MailNutzer, setNutzerLink } from '../db/nutzer.ts';
import { makeToken } from '../guard/token.ts';
import type { Log } from '../observe/log.ts';
import { type Boss, type KontoJob, type MailJob, mailQueues } from './boss.ts';
import { composeMitteilung, type Mail } from './mitteilung.ts';

export interface MailOptions {
  /** null: files in `directory`. */
  smtpUrl: string | null;
  from: string;
  directory: string;
  /** Signs the addresses by which people want no more mails. */
  secretKey: KeyObject;
  log: Pick<Log, 'warn' | 'error'>;
}

// Each takes one mail at a time, so that one which can't be sent is tried again alone. Requests for mails to nobody take their turn
// too: one a second was so few that three networks could hold everybody's back for minutes.
const workers = 4;
// Of one network: where the server is slow for its recipients, the others go on.
const workersOfNetwork = 2;
const pollSeconds = 0.5;

/** Takes mails from the queue until the boss stops. */
export async function workMail({ boss }: Boss, sql: Sql, options: MailOptions): Promise<void> {
  const transport = options.smtpUrl
    ? createTransport(options.smtpUrl, { connectionTimeout: 20_000, greetingTimeout: 20_000, socketTimeout: 60_000 } as never)
    : createFileTransport();
  const send = async ({ data }: { data: MailJob }) => {
    const recipient = await getMailNutzer(sql, data.nutzerId);
    // Blocked or gone since: nobody to write to.
    if (!recipient) return;
    const mail =
      data.kind === 'frage' || data.kind === 'mitteilung'
        ? await composeMitteilung(sql, data, recipient, options.secretKey)
        : await compose(sql, data, recipient);
    // The address was changed since: a link must not go to the old one.
    if (!mail) return;
    const { subject, text, headers } = mail;
    const message = {
      from: options.from,
      to: { name: recipient.name, address: recipient.email },
      subject,
      text,
      headers: { 'Auto-Submitted': 'auto-generated', ...headers },
    };
    const info = (await transport.sendMail(message).catch(async (error: SmtpError) => {
      if (isMailboxGone(error)) await setMailAbgelehnt(sql, data.nutzerId, recipient.email);
      throw error;
    })) as { message?: Buffer };
    if (!options.smtpUrl && info.message) await writeMail(options.directory, info.message);
    await mail.sent?.();
  };
  const attempt = async (job: JobWithMetadata<MailJob>): Promise<JobResult> => {
    try {
      await send(job);
      return { id: job.id, status: 'completed' };
    } catch (error) {
      // Never the server's words: they repeat the address.
      const { code, responseCode } = error as SmtpError;
      const isFinal = isRefused(error as SmtpError);
      const about = { kind: job.data.kind, job: job.id, code, responseCode, attempt: job.retryCount + 1 };
      if (!isFinal && job.retryCount < job.retryLimit) options.log.warn(about, 'a mail was not sent, it will be tried again');
      else options.log.error(about, 'a mail was given up');
      return { id: job.id, status: isFinal ? 'deadletter' : 'failed', output: { code, responseCode } };
    }
  };
  const places = { localConcurrency: workers, localGroupConcurrency: workersOfNetwork };
  const work = (jobs: JobWithMetadata<MailJob>[]) => Promise.all(jobs.map(attempt));
  for (const queue of mailQueues)
    await boss.work(queue, { pollingIntervalSeconds: pollSeconds, includeMetadata: true, perJobResults: true, ...places }, work);
}

/** As nodemailer has it. */
type SmtpError = Record<'code' | 'responseCode' | 'command' | 'response', unknown>;

// What RFC 3463 and RFC 7505 have for a mailbox that is not there, or gone, or disabled. Not 5.1.2: which domains there are a server's own
// resolver says, and one that is broken would end all addresses.
const mailboxCodes = ['5.1.1', '5.1.3', '5.1.6', '5.1.10', '5.2.1'];
const mailboxWords = [
  /\b(user|mailbox|recipient)\b.{0,60}\b(unknown|unavailable|not found|no longer)\b/i,
  /\b(user|mailbox|recipient|account)\b.{0,60}\b(does ?n[o']t|not) exist/i,
  /\b(unknown|no such|invalid) (local )?(user|mailbox|recipient)\b|\bno mailbox\b|\bmailbox name not allowed\b/i,
];

/**
 * Whether the server says that the mailbox itself is not there. Anything else is about the mail, our settings or the server's, and would end
 * all addresses.
 */
function isMailboxGone({ responseCode, command, response }: SmtpError): boolean {
  if (command !== 'RCPT TO' || Number(responseCode) < 500) return false;
  const [, enhanced, words = ''] = /^\d{3}[ -]#?(\d\.\d{1,3}\.\d{1,3}\b)?(.*)/s.exec(String(response)) ?? [];
  if (enhanced) return mailboxCodes.includes(enhanced);
  // Without addresses, in which anything may stand.
  const said = words
    .split(/\s+/)
    .filter((word) => !word.includes('@'))
    .join(' ');
  return (
    [550, 551, 553].includes(Number(responseCode)) && mailboxWords.some((form) => form.test(said)) && !/sender|relay/i.test(said)
  );
}

// Of our login, not of this mail.
const loginCodes = [530, 535];

/** Whether another try would end as this one: the mailbox is not there, or the server doesn't take this mail. */
const isRefused = (error: SmtpError) =>
  isMailboxGone(error) ||
  (error.command === 'DATA' && Number(error.responseCode) >= 500 && !loginCodes.includes(Number(error.responseCode)));

// The link is made here and only its hash is stored; a mail that is sent again carries a new one, and the old one ends.
async function compose(sql: Sql, job: KontoJob, recipient: MailNutzer): Promise<Mail | null> {
  const { portal } = job;
  const greeting = `Guten Tag ${recipient.name},`;
  if (job.kind === 'adresse vergeben') {
    return {
      subject: `${portal}: Registrierung mit Ihrer Adresse`,
      text: [
        greeting,
        `jemand wollte sich bei ${portal} mit dieser E-Mail-Adresse registrieren. Es gibt damit schon ein Konto, Anmeldename: ${recipient.loginname}`,
        'Es wurde nichts angelegt und nichts geändert. Wenn Sie das waren und Ihr Passwort nicht mehr wissen, fordern Sie in Ihrem Portal ein neues an.',
      ].join('\n\n'),
    };
  }
  const { token, hash } = makeToken();
  if (job.kind === 'daten') {
    if (!(await setNutzerDatenLink(sql, job.nutzerId, hash, recipient.email))) return null;
    return {
      subject: `${portal}: Ihre Daten`,
      text: [
        greeting,
        `für Ihr Konto bei ${portal}, Anmeldename: ${recipient.loginname}, wurde nach den gespeicherten Daten gefragt.`,
        'Unter dieser Adresse können Sie sie einmal herunterladen und, wenn Sie wollen, Ihr Konto löschen. Sie gilt einen Tag lang:',
        `${job.origin}/api/v2/konto/daten/${token}`,
        'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.',
      ].join('\n\n'),
    };
  }
  if (!(await setNutzerLink(sql, job.nutzerId, hash, recipient.email))) return null;
  const link = `${job.origin}/api/v2/konto/${token}`;
  const origin =
    recipient.portal_name === null
      ? ''
      : ` Die Registrierung kam von: ${[recipient.portal_name, recipient.portal_url].filter(Boolean).join(', ')}`;
  const reason =
    job.kind === 'registrierung'
      ? `für Sie wurde bei ${portal} ein Konto angelegt, Anmeldename: ${recipient.loginname}.${origin}`
      : `für Ihr Konto bei ${portal}, Anmeldename: ${recipient.loginname}, wurde ein neues Passwort angefordert.`;
  return {
    subject: job.kind === 'registrierung' ? `${portal}: Ihr Konto` : `${portal}: neues Passwort`,
    text: [
      greeting,
      reason,
      'Unter dieser Adresse legen Sie Ihr Passwort fest. Sie gilt einmal und sieben Tage lang:',
      link,
      'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.',
    ].join('\n\n'),
  };
}

// As it is, in UTF-8: quoted-printable breaks lines within a link, and whoever reads the file copies half of it.
function createFileTransport() {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  transport.use('stream', (mail, done) => {
    mail.message.getTransferEncoding = () => '8bit';
    done();
  });
  return transport;
}

/** Removes mails from the directory that were written before this moment, and what broken writes left there. */
export async function removeMails(directory: string, olderThan: Date): Promise<void> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names) {
    // Other files are somebody else's.
    if (!/^\.?\d{4}-[\dTZ-]+[0-9a-f-]{36}(\.eml)?$/.test(name)) continue;
    const path = join(directory, name);
    const { mtime } = await stat(path);
    if (mtime < olderThan) await rm(path, { force: true });
  }
}

// Written aside and renamed: whoever watches the directory never reads half a mail.
async function writeMail(directory: string, message: Buffer): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const name = `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-${randomUUID()}`;
  const partial = join(directory, `.${name}`);
  await writeFile(partial, message, { mode: 0o600 });
  await rename(partial, join(directory, `${name}.eml`));
}
