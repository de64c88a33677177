// Mails on their way: the real queue, a real SMTP server, and files without one.
import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { format } from 'node:util';
import type { Database } from '../../src/db/client.ts';
import { type Boss, mailDeadLetter, mailQueue, startBoss } from '../../src/jobs/boss.ts';
import { type MailOptions, workMail } from '../../src/jobs/mail.ts';
import { openTestDatabase } from '../support/database.ts';
import { makeDirectory } from '../support/end.ts';
import { freePort, listenAnywhere } from '../support/port.ts';
import { startTestService, type TestService, testConfig } from '../support/service.ts';
import { closeSmtp, decodeMail, type Mail, makeSmtp } from '../support/smtp.ts';
import { waitFor } from '../support/wait.ts';

/** Another service whose mails are queued. */
async function startQueue(config = testConfig) {
  const other = await startTestService({ config });
  const queue = await startBoss(other.database, () => {}, { supervise: false, mayChange: true });
  Object.assign(other.deps.queue, { enqueueMail: queue.enqueueMail });
  return { other, queue };
}

let database: Database;
let boss: Boss;
let service: TestService;
let port: number;
/** What the server says to the next mails instead of taking them. */
const refusals: string[] = [];
/** What clients said to it: it shows addresses with umlauts itself. */
const said: string[] = [];
const silent = () => {};
const listener = { info: silent, warn: silent, error: silent, trace: silent, fatal: silent };
const logger = { ...listener, debug: (_: unknown, form: string, ...values: unknown[]) => said.push(format(form, ...values)) };
const { server, mails } = makeSmtp({ logger } as never, () => refusals.shift());
let directory: string;
/** What the log was told. */
const lines: Record<string, unknown>[] = [];
const note = (about: object, message?: string) => void lines.push({ ...about, message });
const secretKey = createSecretKey(Buffer.alloc(32, 1));
const log = { warn: note, error: note } as MailOptions['log'];

before(async () => {
  service = await startTestService();
  database = service.database;
  boss = await startBoss(database, () => {}, { supervise: false, mayChange: true });
  port = await freePort();
  directory = await makeDirectory();
});
after(async () => {
  await boss.stop();
  await closeSmtp(server);
});

const register = (loginname: string, email: string, more: Record<string, string> = {}) =>
  database.sql.begin(async (tx) => {
    const [row] = await tx<{ nutzer_id: number }[]>`
      select nutzer_id from api.register_nutzer(
        loginname => ${loginname}::text, email => ${email}::text, vorname => ${more.vorname ?? 'Änne'}::text, nachname => ${more.nachname ?? 'Groß'}::text,
        anonymisiert => 0, portal_name => ${more.portalName ?? null}::text, portal_url => null, medien_lizenz => null)`;
    await boss.enqueueMail(tx, {
      kind: 'registrierung',
      nutzerId: row?.nutzer_id ?? 0,
      origin: 'http://n.test:8080',
      portal: 'Nordland',
    });
  });

it('S5.4 a mail that is stored in a transaction that fails is never sent', async () => {
  await assert.rejects(
    database.sql.begin(async (tx) => {
      await boss.enqueueMail(tx, { kind: 'passwort', nutzerId: 1, origin: 'http://n.test:8080', portal: 'Nordland' });
      throw new Error('changed my mind');
    }),
    /changed my mind/,
  );
  const [row] = await database.sql`select count(*)::integer as n from pgboss.job where name = ${mailQueue}`;
  assert.equal(row?.n, 0);
});

it('S5.4 arrives once, after a server that is down and one that refuses; its link sets the password', async () => {
  await register('Änne', 'aenne@example.org', { portalName: 'Naturbund' });
  await workMail(boss, database.sql, {
    smtpUrl: `smtp://127.0.0.1:${port}?ignoreTLS=true`,
    from: 'portal@example.org',
    directory,
    secretKey,
    log,
  });
  // Nobody listens there yet.
  await waitFor('a failed attempt', async () => {
    const [row] = await database.sql`select retry_count, state::text from pgboss.job where name = ${mailQueue}`;
    return row?.state === 'retry';
  });
  refusals.push('bitte später');
  server.listen(port, '127.0.0.1');
  // The next attempt is due in half a minute: not waited for.
  const hurry = () => database.sql`update pgboss.job set start_after = now() where name = ${mailQueue} and state = 'retry'`;
  await waitFor('the mail', async () => {
    await hurry();
    return mails.length > 0;
  });
  await waitFor('the end of the job', async () => {
    const [row] = await database.sql`select state::text from pgboss.job where name = ${mailQueue}`;
    return row?.state === 'completed';
  });
  assert.equal(mails.length, 1);
  const [mail] = mails as [Mail];
  assert.deepEqual(mail.to, ['aenne@example.org']);
  const shown = decodeMail(mail.raw);
  assert.match(shown, /Guten Tag Änne Groß,/);
  assert.match(shown, /Naturbund/);
  assert.match(mail.raw, /^Content-Type: text\/plain; charset=utf-8/m);
  const link = /http:\/\/n\.test:8080\/api\/v2(\/konto\/\S+)/.exec(shown)?.[1];
  assert.ok(link, shown);
  const answer = await service.request(link, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'passwort=sehr+geheim&wiederholung=sehr+geheim',
  });
  assert.equal(answer.status, 200);

  // Each attempt that failed left a line, and none of them says whom it was for.
  const failed = lines.filter(({ message }) => message === 'a mail was not sent, it will be tried again');
  assert.ok(failed.length >= 2);
  assert.deepEqual(new Set(failed.map(({ kind }) => kind)), new Set(['registrierung']));
  assert.ok(failed.some(({ code }) => code === 'ESOCKET') && failed.some(({ responseCode }) => Number(responseCode) >= 400));
  assert.ok(!JSON.stringify(lines).includes('aenne'));

  // Neither the link nor its hash is in the queue's tables.
  const token = link.slice('/konto/'.length);
  const [jobs] = await database.sql`select coalesce(string_agg(j::text, ' '), '') as text from pgboss.job j`;
  assert.ok(!jobs?.text.includes(token) && jobs?.text.includes('nutzerId'));
});

it('reaches mailboxes with an apostrophe and a domain with umlauts, by an envelope of ASCII', async () => {
  for (const [loginname, email] of [
    ['Apostroph', "o'neill@example.org"],
    ['Umlaut', 'anna@xn--mller-kva.example'],
  ] as const) {
    const before = mails.length;
    await register(loginname, email);
    await waitFor('the mail', () => mails.length > before);
    assert.ok(said.includes(`C: RCPT TO:<${email}>`), said.join('\n'));
    assert.match(mails.at(-1)?.raw ?? '', new RegExp(`^To: .*<${email}>\r$`, 'm'));
  }
});

it('S5.4 one that can not be delivered ends in the dead letter queue', async () => {
  // On a busy machine it is tried once before its tries are limited; not while it is tried, which knows the limit of before.
  refusals.push('nein', 'nein');
  await register('Unzustellbar', 'fort@example.org');
  await waitFor('its last try', async () => {
    const limited = await database.sql`
      update pgboss.job set retry_limit = 0, start_after = now() where name = ${mailQueue} and state in ('created', 'retry')
      returning id`;
    return limited.length === 1;
  });
  await waitFor('the dead letter', async () => {
    const [row] = await database.sql`select count(*)::integer as n from pgboss.job where name = ${mailDeadLetter}`;
    return row?.n === 1;
  });
  refusals.length = 0;
  assert.equal(lines.filter(({ message }) => message === 'a mail was given up').length, 1);
});

/** What servers say to RCPT TO of a mailbox that is not there. */
const gone = [
  '550 5.1.1 <x@example.org>: Recipient address rejected: User unknown in virtual mailbox table',
  '553 5.1.3 bad address syntax',
  '551 5.1.6 moved',
  '556 5.1.10 no mail here',
  '550 5.2.1 The account is disabled',
  '550 #5.1.1 rejected',
  '550 No such user here',
  '550 Requested action not taken: mailbox unavailable',
  '550 The email account that you tried to reach does not exist',
  '551 Recipient unknown',
  '553 sorry, no mailbox here by that name',
  '550 Unknown recipient',
];
/** What they say when they don't like our mail, our login or our server, are full, or can't look the domain up. */
const notGone = [
  '550 relay not permitted',
  '550 nein',
  '550 5.7.1 Relaying denied: user unknown',
  '554 5.7.1 <x@example.org>: Relay access denied',
  '554 no such user',
  '550 5.1.0 <portal@example.org>: Sender address rejected: User unknown in local recipient table',
  '550 Sender verify failed: no such user',
  '550 <user@unknown.example> refused by policy',
  '553 relaying to this recipient unknown',
  '551 User not local; please try another server',
  '553 sorry, that domain is not in my list of allowed rcpthosts',
  '550 5.1.2 Host or domain name not found',
  '550 5.1.8 sender domain is none',
  '552 5.2.2 mailbox full',
  '530 5.7.0 Authentication required',
  '535 5.7.8 no such user',
  '450 5.1.1 user unknown',
  '450 4.1.1 user unknown',
];

it('S5.4 only a mailbox that is not there, or a mail that is refused, is given up at once, and only the first ends other mails', async () => {
  const { other, queue } = await startQueue();
  const replies = new Map(
    [...gone, ...notGone, 'data554 5.1.1 user unknown', 'data552 too large', 'data451 later'].map((reply, n) => [
      `m${n}@example.org`,
      reply,
    ]),
  );
  const refuse = (reply: string) => Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
  const tried: string[] = [];
  const { server: mailServer } = makeSmtp({
    onRcptTo({ address }, _session, done) {
      tried.push(address);
      const reply = replies.get(address) ?? '';
      done(reply.startsWith('data') ? null : refuse(reply));
    },
    onData(stream, { envelope }, done) {
      const reply = replies.get(envelope.rcptTo[0]?.address ?? '') ?? '';
      stream.on('end', () => done(refuse(reply.slice('data'.length)))).resume();
    },
  });
  const smtpUrl = `smtp://127.0.0.1:${await listenAnywhere(mailServer.server)}?ignoreTLS=true`;
  try {
    const begin = lines.length;
    await other.database.sql.begin(async (tx) => {
      for (const email of replies.keys()) {
        const [row] = await tx<{ id: number }[]>`
          insert into portal.nutzer (loginname, email, vorname, nachname) values (${email}, ${email}, 'G', 'G') returning id`;
        await queue.enqueueMail(tx, {
          ...{ kind: 'registrierung', nutzerId: row?.id ?? 0, origin: 'http://n.test:8080', portal: 'Nordland' },
        });
      }
    });
    await workMail(queue, other.database.sql, { smtpUrl, from: 'portal@example.org', directory, secretKey, log });
    await waitFor('a line about each', () => lines.length - begin >= replies.size);
    const told = lines.slice(begin);
    const givenUp = told.filter(({ message }) => message === 'a mail was given up');
    const final = [...gone, '554', '552'];
    assert.deepEqual(
      givenUp.map(({ responseCode }) => responseCode).sort(),
      final.map((reply) => Number(reply.slice(0, 3))).sort(),
    );
    assert.deepEqual([...tried].sort(), [...replies.keys()].sort(), 'once each');
    await waitFor('the dead letters, and the others for another try', async () => {
      const rows = await other.database.sql<{ name: string; n: number }[]>`
        select name || ' ' || state::text as name, count(*)::integer as n from pgboss.job group by 1`;
      const found = Object.fromEntries(rows.map(({ name, n }) => [name, n]));
      return found[`${mailDeadLetter} created`] === final.length && found[`${mailQueue} retry`] === replies.size - final.length;
    });
    const [outputs] = await other.database.sql`select coalesce(string_agg(output::text, ' '), '') as text from pgboss.job`;
    assert.ok(!outputs?.text.includes('example.org'), 'no address is kept');
    const ended = await other.database.sql<{ email: string }[]>`
      select u.email from portal.mitteilung m join portal.nutzer u on u.id = m.nutzer_id where m.abgelehnt is not null`;
    assert.deepEqual(ended.map(({ email }) => replies.get(email)).sort(), [...gone].sort());
  } finally {
    await queue.stop();
    await closeSmtp(mailServer);
  }
});

it('S2.4 headers can not be injected by a name or the portal, and the mail is text', async () => {
  const before = mails.length;
  const injection = 'A\r\nBcc: opfer@example.org\r\nX: ';
  await register('Injektion', 'inj@example.org', { vorname: injection, nachname: injection, portalName: injection });
  const mail = await waitFor('the mail', async () => mails[before]);
  assert.deepEqual(mail.to, ['inj@example.org']);
  const header = mail.raw.slice(0, mail.raw.indexOf('\r\n\r\n'));
  assert.ok(!/^Bcc:/im.test(header), header);
  assert.match(header, /^Content-Type: text\/plain/im);
});

it('S5.3 recipients at which the server is slow hold up no mail that another network asks for', async () => {
  const { other, queue } = await startQueue({ ...testConfig, trustedHops: 1 });
  const waiting: (() => void)[] = [];
  const { server: mailServer, mails: taken } = makeSmtp({
    onRcptTo({ address }, _session, done) {
      if (address.endsWith('@slow.example')) waiting.push(done);
      else done();
    },
  });
  const smtpUrl = `smtp://127.0.0.1:${await listenAnywhere(mailServer.server)}?ignoreTLS=true`;
  try {
    await workMail(queue, other.database.sql, { smtpUrl, from: 'portal@example.org', directory, secretKey, log });
    for (let n = 0; n < 8; n++) {
      const form = { loginname: `Langsam ${n}`, email: `${n}@slow.example`, vorname: 'L', nachname: 'L' };
      assert.equal((await other.request('/register', { form, headers: { 'x-forwarded-for': '192.0.2.1' } })).status, 200);
    }
    await waitFor('the first of them', async () => waiting.length > 0);
    await sleep(2000);
    const form = { loginname: 'melder' };
    assert.equal((await other.request('/passwort', { form, headers: { 'x-forwarded-for': '192.0.2.2' } })).status, 200);
    await waitFor('the mail', async () => taken.length > 0);
    assert.deepEqual(taken[0]?.to, ['3@example.org']);
    assert.equal(taken.length, 1);
    await waitFor('all others', async () => {
      for (const go of waiting.splice(0)) go();
      return taken.length === 9;
    });
  } finally {
    for (const go of waiting) go();
    await queue.stop();
    await closeSmtp(mailServer);
  }
});

it('S5.4 a server that drops, and one that stalls: registration answers at once, and the mail arrives later, once', async () => {
  const { other, queue } = await startQueue();
  // In turn: hangs up, hangs up in the middle, says nothing until the client has enough, takes the mail.
  const faults = ['drop', 'drop in the middle', 'stall'];
  const stalled: Socket[] = [];
  const { server: mailServer, mails: taken } = makeSmtp();
  const target = await listenAnywhere(mailServer.server);
  const gate = createServer((socket) => {
    socket.on('error', () => {});
    const fault = faults.shift();
    if (fault === 'drop') return socket.destroy();
    if (fault === 'stall') return stalled.push(socket);
    const behind = connect(target, '127.0.0.1').on('error', () => socket.destroy());
    socket
      .on('close', () => behind.destroy())
      .on('data', (chunk) => {
        if (fault === 'drop in the middle' && /^DATA/m.test(String(chunk))) return socket.destroy();
        behind.write(chunk);
      });
    behind.pipe(socket);
  });
  const smtpUrl = `smtp://127.0.0.1:${await listenAnywhere(gate)}?ignoreTLS=true`;
  try {
    await workMail(queue, other.database.sql, { smtpUrl, from: 'portal@example.org', directory, secretKey, log });
    const start = performance.now();
    const form = { loginname: 'Geduld', email: 'geduld@example.org', vorname: 'G', nachname: 'G' };
    assert.equal((await other.request('/register', { form })).status, 200);
    assert.ok(performance.now() - start < 2000, 'registration waits for the mail server');
    await waitFor('the mail', async () => {
      await other.database.sql`update pgboss.job set start_after = now() where name = ${mailQueue} and state = 'retry'`;
      // The client gives up after 20 s of silence; the network may end it before.
      for (const socket of stalled.splice(0)) setTimeout(() => socket.destroy(), 300);
      return taken.length > 0;
    });
    assert.deepEqual(faults, [], 'some fault did not happen');
    await waitFor('the end of the job', async () => {
      const [row] = await other.database.sql`select state::text, retry_count from pgboss.job where name = ${mailQueue}`;
      return row?.state === 'completed' && row?.retry_count === 3;
    });
    await sleep(1500);
    assert.equal(taken.length, 1);
    const link = /\/api\/v2(\/konto\/\S+)/.exec(decodeMail(taken[0]?.raw ?? ''))?.[1];
    assert.equal((await other.request(link ?? '')).status, 200, 'the link of the mail that arrived is the one that counts');
  } finally {
    await queue.stop();
    gate.close();
    await closeSmtp(mailServer);
  }
});

it('becomes a file where no server is configured, with its links whole', async () => {
  const other = await openTestDatabase();
  const files = await startBoss(other, () => {}, { supervise: false, mayChange: true });
  await workMail(files, other.sql, { smtpUrl: null, from: 'portal@example.org', directory, secretKey, log });
  const [row] = await other.sql<{ id: number }[]>`select id from portal.nutzer where loginname = 'melder'`;
  // As long as they get: the address of a tenant, and a token that may have any letter of its alphabet.
  const about = { nutzerId: row?.id ?? 0, origin: 'https://melden.artenfinder.nordland.example.org', portal: 'Nördland' };
  const read = (kind: string) =>
    waitFor(`the file of ${kind}`, async () => {
      for (const name of (await readdir(directory)).filter((file) => file.endsWith('.eml'))) {
        const raw = await readFile(join(directory, name), 'utf8');
        await rm(join(directory, name));
        return raw;
      }
    });
  for (const [kind, pattern] of [
    ['adresse vergeben', null],
    ['registrierung', /^https:\/\/melden\.artenfinder\.nordland\.example\.org\/api\/v2\/konto\/[\w-]{43}\r$/m],
    ['passwort', /^https:\/\/melden\.artenfinder\.nordland\.example\.org\/api\/v2\/konto\/[\w-]{43}\r$/m],
    ['daten', /^https:\/\/melden\.artenfinder\.nordland\.example\.org\/api\/v2\/konto\/daten\/[\w-]{43}\r$/m],
  ] as const) {
    await other.sql.begin((tx) => files.enqueueMail(tx, { kind, ...about }));
    // As the bytes are, not as a mail client makes of them.
    const raw = await read(kind);
    assert.match(raw, /^To: Max Muster <3@example\.org>\r$/m);
    assert.match(raw, /^Content-Transfer-Encoding: 8bit\r$/m);
    assert.match(raw, /Anmeldename: melder/);
    assert.match(raw, /Nördland/);
    if (pattern) assert.match(raw, pattern);
    else assert.ok(!raw.includes('/konto/'), 'a link was sent although nobody asked for one');
  }
  await files.stop();
});
