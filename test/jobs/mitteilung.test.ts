// Mails to recorders (O6.21 to O6.25): digests and questions, by the real queue to a real SMTP server, and the pages behind their links.
import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { writeAuskunft } from '../../src/auskunft/archive.ts';
import { setNutzerLoeschung } from '../../src/db/loeschung.ts';
import { mitteilungQueue, startBoss } from '../../src/jobs/boss.ts';
import { eraseNutzer } from '../../src/jobs/loeschung.ts';
import { workMail } from '../../src/jobs/mail.ts';
import { enqueueMitteilungen } from '../../src/jobs/mitteilung.ts';
import { type Account, arten } from '../support/catalogue.ts';
import { listenAnywhere } from '../support/port.ts';
import { makeRecord } from '../support/records.ts';
import { type Fields, startTestService } from '../support/service.ts';
import { closeSmtp, decodeMail, makeSmtp } from '../support/smtp.ts';
import { makeWithPhoto } from '../support/storage.ts';
import { waitFor } from '../support/wait.ts';
import { readZip } from '../support/zip.ts';

const service = await startTestService();
const { sql } = service.database;
const boss = await startBoss(service.database, () => {}, { supervise: false, mayChange: true });
/** Addresses that the server refuses, and how. */
const refused = new Map<string, string>();
const { server, mails } = makeSmtp({
  onRcptTo({ address }, _session, done) {
    const reply = refused.get(address);
    done(reply === undefined ? null : Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) }));
  },
});

before(async () => {
  await workMail(boss, sql, {
    smtpUrl: `smtp://127.0.0.1:${await listenAnywhere(server.server)}?ignoreTLS=true`,
    from: 'portal@example.org',
    directory: '',
    secretKey: createSecretKey(Buffer.alloc(32, 1)),
    log: { warn: () => {}, error: () => {} },
  });
});
after(async () => {
  await boss.stop();
  await closeSmtp(server);
});
beforeEach(async () => {
  await send(true);
  mails.length = 0;
});

const nutzer = async (account: string): Promise<number> =>
  (await sql`select id::integer as id from portal.nutzer where loginname = ${account}`)[0]?.id;
const make = (fields: Parameters<typeof makeRecord>[1] = {}) =>
  makeRecord(sql, { bereich: 'oeffentlich', nutzer: 'melder', ...fields });
async function decide(id: number, form: Fields, as: Account = 'expertin') {
  const answer = await service.put(id, form, as);
  assert.equal(answer.status, 200, answer.text);
}
/** What the job does every minute, and waits until all mails are sent or given up. @param due what waits for its morning is due too */
async function send(due = false): Promise<void> {
  if (due) await sql`update portal.mitteilung_offen set faellig = now()`;
  await enqueueMitteilungen(boss, sql, { publicUrl: 'http://{domain}:8080', defaultTenant: null });
  await waitFor('the end of all mails', async () => {
    const [row] = await sql`
      select count(*)::integer as n from pgboss.job where name = ${mitteilungQueue} and state in ('created', 'active')`;
    return row?.n === 0;
  });
}
/** The same, three minutes later. */
async function sendLater(): Promise<void> {
  await sql`update portal.mitteilung_offen set faellig = now() where faellig <= now() + interval '3 minutes'`;
  await send();
}
const setTo = (account: Account, haeufigkeit: string) =>
  service.request('/pruefung/v1/mitteilungen', {
    ...{ below: '', method: 'PUT', as: account },
    body: JSON.stringify({ haeufigkeit }),
  });
/** Path of the first link to a record in a mail. */
const linkIn = (raw = '') =>
  /http:\/\/n\.test:8080(\/pruefung\/v1\/beobachtung\/\S+)/.exec(decodeMail(raw))?.[1] ?? assert.fail(raw);
const open = (path: string) => service.request(path, { below: '' });
const answerBy = (path: string, antwort: string) =>
  service.request(path, {
    ...{ below: '', method: 'POST', body: new URLSearchParams({ antwort }).toString() },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
async function ask(frage: string, fields: Parameters<typeof makeRecord>[1] = {}) {
  const id = await make(fields);
  await decide(id, { status: 'hinweis', bemerkung: frage });
  await sendLater();
  const mail = mails.at(-1) ?? assert.fail('no mail');
  return { id, mail, link: linkIn(mail.raw) };
}
const stateOf = async (id: number) =>
  (
    await sql`
    select s.status::text, s.experte_id, private.list_nachricht(s.id) as thread,
      array_to_string(array(select q.status::text from portal.qs q where q.sichtbeobachtung_id = s.id order by q.id), ' ') as qs
    from portal.sichtbeobachtung s where s.id = ${id}`
  )[0];

describe('the digest', () => {
  it('of 40 decisions in a day is one mail, without the species of protected records', async () => {
    for (let n = 0; n < 36; n++) await decide(await make(), { status: 'freigegeben' });
    const uhu = await make({ art: arten.uhu });
    await decide(uhu, { status: 'freigegeben', bemerkung: 'Schöner Uhu' });
    // Protected at W only, and by its recorder.
    await decide(await make({ art: arten.rotmilan }), { status: 'freigegeben' });
    await decide(await make({ art: arten.hornisse, sensibel: true }), { status: 'abgelehnt' });
    await decide(await make({ art: arten.tagpfauenauge }), { status: 'hinweis' });
    await send();
    assert.equal(mails.length, 0, 'nothing before its morning');
    await send(true);
    assert.deepEqual(
      mails.map(({ to }) => to),
      [['3@example.org']],
    );
    const raw = mails[0]?.raw ?? '';
    const text = decodeMail(raw);
    assert.match(text, /38 freigegeben, 1 mit Hinweis, 1 abgelehnt\./);
    assert.equal(text.match(/Amsel, \d\d\.\d\d\.2001: freigegeben/g)?.length, 36);
    assert.equal(text.match(/eine geschützte Beobachtung vom \d\d\.\d\d\.2001: (freigegeben|abgelehnt)/g)?.length, 3);
    assert.match(text, /Tagpfauenauge, \d\d\.\d\d\.2001: mit Hinweis/);
    // Without what is drawn at random.
    const said = text.replaceAll(/[\w-]{43}|^Message-ID: .*$/gm, '');
    assert.doesNotMatch(said, /Uhu|Rotmilan|Hornisse|Bubo|Milvus|Vespa|420000|5530000/i);
    assert.match(raw, /^Subject: Nordland: Neues zu Ihren Beobachtungen\r$/m);
    assert.match(raw, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
    const jobs = await sql`select data::text as data from pgboss.job where name = ${mitteilungQueue}`;
    assert.doesNotMatch(jobs.map(({ data }) => data).join(' '), /Uhu|Amsel/);
    await send(true);
    assert.equal(mails.length, 1, 'told once');
  });

  it('names fifty records and counts the others', async () => {
    for (let n = 0; n < 52; n++) await decide(await make(), { status: 'freigegeben' });
    await send(true);
    const text = decodeMail(mails[0]?.raw ?? '');
    assert.equal(text.match(/Amsel, /g)?.length, 50);
    assert.match(text, /52 freigegeben\.[\s\S]*Und 2 weitere\./);
  });

  it('tells a record that is decided again with the next mail, and one that was put back not at all', async () => {
    const [again, back] = [await make(), await make()];
    await decide(again, { status: 'freigegeben' });
    await decide(back, { status: 'freigegeben' });
    await decide(back, { status: 'pruefung' });
    await send(true);
    assert.match(decodeMail(mails[0]?.raw ?? ''), /entschieden: 1 freigegeben\./);
    await decide(again, { status: 'abgelehnt' });
    await send(true);
    assert.match(decodeMail(mails[1]?.raw ?? ''), /entschieden: 1 abgelehnt\./);
    assert.equal(mails.length, 2);
    const [left] = await sql`select count(*)::integer as n from portal.mitteilung_offen`;
    assert.equal(left?.n, 0);
  });

  it('is neither lost nor doubled when its mail could not be enqueued', async () => {
    await decide(await make(), { status: 'freigegeben' });
    await sql`update portal.mitteilung_offen set faellig = now()`;
    const broken = { enqueueMail: async () => assert.fail('away') };
    await assert.rejects(enqueueMitteilungen(broken, sql, { publicUrl: 'http://{domain}', defaultTenant: null }), /away/);
    await send();
    await send();
    assert.equal(mails.length, 1);
  });

  it('is due some minutes after a decision, next morning, or on Monday, as the account wants it', async () => {
    for (const [haeufigkeit, at, expected] of [
      ['sofort', '2026-11-30T12:00:00Z', '2026-11-30T12:03:00Z'],
      ['taeglich', '2026-11-30T05:59:00Z', '2026-11-30T06:00:00Z'],
      ['taeglich', '2026-11-30T06:00:00Z', '2026-12-01T06:00:00Z'],
      ['taeglich', '2026-07-01T04:59:00Z', '2026-07-01T05:00:00Z'],
      ['woechentlich', '2026-11-30T05:59:00Z', '2026-11-30T06:00:00Z'],
      ['woechentlich', '2026-11-30T06:00:00Z', '2026-12-07T06:00:00Z'],
      // Summer time ends in between.
      ['woechentlich', '2026-10-20T12:00:00Z', '2026-10-26T06:00:00Z'],
    ] as const) {
      const [row] = await sql`
        select private.to_faellig(${haeufigkeit}::text, ${at}::text::timestamptz) = ${expected}::text::timestamptz as right`;
      assert.ok(row?.right, `${haeufigkeit} ${at}`);
    }
  });

  it('sofort: some decisions are one mail; a change of the setting moves what waits', async () => {
    const minutes = async () =>
      (await sql`select extract(epoch from faellig - now())::float8 / 60 as m from portal.mitteilung_offen`).map(({ m }) =>
        Number(m),
      );
    await decide(await make(), { status: 'freigegeben' });
    assert.equal((await setTo('melder', 'sofort')).status, 200);
    await decide(await make(), { status: 'abgelehnt' });
    const waiting = await minutes();
    assert.ok(waiting.length === 2 && waiting.every((m) => m > 1 && m <= 3), String(waiting));
    await send(true);
    assert.equal(mails.length, 1);
    assert.match(decodeMail(mails[0]?.raw ?? ''), /1 freigegeben, 1 abgelehnt\.[\s\S]*bald nach jeder Entscheidung/);
    await setTo('melder', 'woechentlich');
  });

  it('is not sent after one click, nor to blocked, erased or nameless accounts, nor for an import', async () => {
    const id = await make();
    await decide(id, { status: 'freigegeben' });
    await send(true);
    const address =
      /^List-Unsubscribe: <http:\/\/n\.test:8080(\S+)>\r$/m.exec(mails[0]?.raw.replaceAll(/\r\n\s+/g, ' ') ?? '')?.[1] ?? '';
    const page = await open(address);
    assert.equal(page.status, 200);
    assert.match(page.text, /<form method="post"><button/);
    const get = () => service.request('/pruefung/v1/mitteilungen', { below: '', as: 'melder' });
    assert.deepEqual((await get()).json, { haeufigkeit: 'woechentlich' }, 'looking changes nothing');
    await decide(await make(), { status: 'freigegeben' });
    const click = await service.request(address, {
      ...{ below: '', method: 'POST', body: 'List-Unsubscribe=One-Click' },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(click.status, 200);
    assert.deepEqual((await get()).json, { haeufigkeit: 'nie' });
    await decide(await make(), { status: 'hinweis', bemerkung: 'Sicher?' });
    await send(true);
    assert.equal(mails.length, 1);
    const other = address.replace(/\d+-/, `${await nutzer('nachbarin')}-`);
    assert.equal((await service.request(other, { below: '', method: 'POST' })).status, 404);
    await setTo('melder', 'woechentlich');

    const [waits] = [await make({ nutzer: 'nachbarin' }), await make({ nutzer: 'gesperrt' })];
    await decide(waits, { status: 'freigegeben' });
    await sql`select api.set_nutzer_status(loginname => ${'nachbarin'}::text, status => 0)`;
    await decide(await make({ nutzer: 'gesperrt' }), { status: 'hinweis', bemerkung: 'Sicher?' });
    await sql`update portal.nutzer set email = null where loginname = 'käfer anna'`;
    await decide(await make({ nutzer: 'käfer anna' }), { status: 'freigegeben' });
    await make({ status: 'freigegeben' });
    await send(true);
    assert.equal(mails.length, 1);
    const [left] = await sql`select (select count(*) from portal.mitteilung_offen)::integer as n`;
    assert.equal(left?.n, 0, 'nothing waits for nobody');
    await sql`select api.set_nutzer_status(loginname => ${'nachbarin'}::text, status => 1)`;
  });

  it('tells what is decided while its mail is being sent with the next one', async () => {
    const id = await make();
    await decide(id, { status: 'freigegeben' });
    const melder = await nutzer('melder');
    const [taken] = await sql`select mail::text as mail from api.set_mitteilung_mail(nutzer_id => ${melder}::bigint)`;
    await decide(id, { status: 'abgelehnt' });
    await sql`select api.delete_mitteilung(nutzer_id => ${melder}::bigint, mail => ${taken?.mail}::uuid)`;
    await send(true);
    assert.match(decodeMail(mails[0]?.raw ?? ''), /entschieden: 1 abgelehnt\./);
  });

  it('is tried again after a fault, and then told once', async () => {
    refused.set('3@example.org', '451 later');
    await decide(await make(), { status: 'freigegeben' });
    await send(true);
    assert.equal(mails.length, 0);
    refused.clear();
    await sql`update pgboss.job set start_after = now() where name = ${mitteilungQueue} and state = 'retry'`;
    await waitFor('the mail', () => mails.length === 1);
    await send(true);
    assert.equal(mails.length, 1);
  });
});

describe('a question', () => {
  it('goes out within minutes with a link; its answer joins the thread and puts the record back into review', async () => {
    const { id, mail, link } = await ask('Wie sah der Schnabel aus?');
    assert.deepEqual(mail.to, ['3@example.org']);
    assert.match(mail.raw, /^Subject: Nordland: Fragen zu Ihren Beobachtungen\r$/m);
    assert.match(
      decodeMail(mail.raw),
      /1 mit Hinweis\. Eine Frage ist offen\.\n\nAmsel, \d\d\.\d\d\.\d{4}: mit Hinweis\nWie sah der Schnabel aus\?\nhttp:/,
    );
    const page = await open(link);
    assert.equal(page.status, 200, page.text);
    for (const shown of ['Amsel', 'Wie sah der Schnabel aus?', '<textarea', 'Mit Hinweis', '49.9'])
      assert.ok(page.text.includes(shown), shown);
    assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; /);
    assert.equal(page.headers.get('cache-control'), 'private, no-store');
    assert.equal((await answerBy(link, ' ')).status, 400);
    assert.equal((await answerBy(link, 'x'.repeat(4001))).status, 400);
    assert.equal((await stateOf(id))?.status, 'hinweis');
    const done = await answerBy(link, 'Gelb,\r\nund <b>lang</b>.');
    assert.equal(done.status, 200, done.text);
    const state = await stateOf(id);
    assert.deepEqual([state?.status, state?.experte_id, state?.qs], ['pruefung', null, 'pruefung hinweis pruefung']);
    assert.deepEqual(
      state?.thread.map(({ von, text }: { von: string; text: string }) => [von, text]),
      [
        ['experte', 'Wie sah der Schnabel aus?'],
        ['erfasser', 'Gelb,\nund <b>lang</b>.'],
      ],
    );
    const again = await answerBy(link, 'Noch etwas');
    assert.equal(again.status, 409);
    assert.match(again.text, /nicht mehr offen/);
    assert.ok(again.text.includes('&lt;b&gt;lang'), again.text);
    assert.deepEqual(await stateOf(id), state);
    await decide(id, { status: 'hinweis' });
    await send(true);
    assert.equal(mails.length, 2);
    assert.doesNotMatch(decodeMail(mails[1]?.raw ?? ''), /Frage ist offen|Schnabel|Gelb/, 'an answer is no question');
  });

  it('shows its recorder the true place and the photos of a protected record, and tells nothing of it in the mail', async () => {
    const { id, foto } = await makeWithPhoto(service);
    await sql`update portal.sichtbeobachtung set bereich = 'oeffentlich', art = ${arten.uhu} where id = ${id}`;
    await decide(id, { status: 'hinweis', bemerkung: 'Uhu am Felsen?' });
    await sendLater();
    assert.doesNotMatch(decodeMail(mails[0]?.raw ?? '').replaceAll(/[\w-]{43}/g, ''), /Uhu|Felsen|Bubo/);
    const page = await open(linkIn(mails[0]?.raw));
    assert.match(page.text, /Uhu am Felsen/);
    const [, address = ''] = new RegExp(`src="http://n\\.test/api/v2(/medien/${foto}[^"]+)"`).exec(page.text) ?? [];
    assert.equal((await service.request(address.replaceAll('&amp;', '&'))).status, 200, page.text);
  });

  it('that is sent again is asked once; without a text, nothing is asked', async () => {
    const id = await make();
    await decide(id, { status: 'hinweis', bemerkung: 'Sicher?' });
    await decide(id, { status: 'hinweis', bemerkung: 'Sicher?' });
    await decide(await make(), { status: 'hinweis' });
    await decide(await make(), { status: 'abgelehnt', bemerkung: 'Nein' });
    await sendLater();
    assert.equal(mails.length, 1);
    assert.match(decodeMail(mails[0]?.raw ?? ''), /2 mit Hinweis, 1 abgelehnt\. Eine Frage ist offen\./);
    await decide(id, { status: 'hinweis', bemerkung: 'Sicher?' });
    await sendLater();
    assert.equal(mails.length, 1);
    await decide(id, { status: 'hinweis', bemerkung: 'Ganz sicher?' });
    await sendLater();
    assert.equal(mails.length, 2);
    assert.match(decodeMail(mails[1]?.raw ?? ''), /1 mit Hinweis\. Eine Frage ist offen\.[\s\S]*Ganz sicher\?/);
  });

  it('is not mailed once it is answered or decided', async () => {
    const id = await make();
    await decide(id, { status: 'hinweis', bemerkung: 'Sicher?' });
    await decide(id, { status: 'freigegeben' });
    await sendLater();
    assert.equal(mails.length, 0);
    const other = await make();
    await decide(other, { status: 'hinweis', bemerkung: 'Sicher?' });
    await decide(other, { status: 'pruefung' });
    await send(true);
    assert.doesNotMatch(decodeMail(mails[0]?.raw ?? ''), /Sicher|Frage ist/);
  });

  it('is one mail with all others of some minutes and with what was decided, and is told once', async () => {
    const [a, b, uhu, weekly] = [await make(), await make(), await make({ art: arten.uhu }), await make()];
    await decide(weekly, { status: 'freigegeben' });
    await decide(a, { status: 'hinweis', bemerkung: 'Wie viele?' });
    await decide(uhu, { status: 'hinweis', bemerkung: 'Am Felsen?' });
    await decide(b, { status: 'hinweis', bemerkung: 'Am Wald?' });
    await send();
    assert.equal(mails.length, 0, 'a batch of decisions has its time');
    await sendLater();
    assert.equal(mails.length, 1);
    const text = decodeMail(mails[0]?.raw ?? '');
    assert.match(text, /1 freigegeben, 3 mit Hinweis\. 3 Fragen sind offen\./);
    assert.match(text, /Amsel[^\n]+\nWie viele\?\nhttp/);
    assert.match(text, /Amsel[^\n]+\nAm Wald\?\nhttp/);
    assert.match(text, /eine geschützte Beobachtung vom \d\d\.\d\d\.2001: mit Hinweis\nhttp/);
    assert.doesNotMatch(text.replaceAll(/[\w-]{43}/g, ''), /Uhu|Felsen/);
    assert.equal(text.match(/http\S+beobachtung/g)?.length, 4);
    assert.ok(text.lastIndexOf('mit Hinweis') < text.indexOf(': freigegeben'), 'questions come first');
    await send(true);
    assert.equal(mails.length, 1, 'told once');
  });

  it('has its line however many there are, and comes before decisions', async () => {
    for (let n = 0; n < 52; n++) await decide(await make(), { status: 'hinweis', bemerkung: `Frage ${n}?` });
    // Of later days, and with a reservation too.
    for (let n = 0; n < 3; n++) await decide(await make(), { status: 'hinweis' });
    await sendLater();
    await send();
    assert.equal(mails.length, 2);
    const texts = mails.map(({ raw }) => decodeMail(raw));
    assert.match(texts[0] ?? '', /entschieden: 53 mit Hinweis\. 50 Fragen sind offen\.[\s\S]*Und 3 weitere\./);
    assert.match(texts[1] ?? '', /entschieden: 2 mit Hinweis\. 2 Fragen sind offen\./);
    const asked = texts.flatMap((text) => text.match(/Frage \d+\?\nhttp/g) ?? []);
    assert.equal(new Set(asked).size, 52);
  });

  it('waits for no morning when the account wants decisions at another time, and is not sent to whom wants no mails', async () => {
    const due = async () =>
      (await sql`select faellig <= now() + interval '3 minutes' as soon from portal.mitteilung_offen`)[0]?.soon;
    await setTo('melder', 'taeglich');
    await decide(await make(), { status: 'hinweis', bemerkung: 'Sicher?' });
    assert.equal(await due(), true);
    await setTo('melder', 'woechentlich');
    assert.equal(await due(), true);
    await setTo('melder', 'nie');
    await sendLater();
    await decide(await make(), { status: 'hinweis', bemerkung: 'Sicher?' });
    await sendLater();
    assert.equal(mails.length, 0);
    await setTo('melder', 'woechentlich');
    await sendLater();
    assert.equal(mails.length, 0, 'nothing was kept');
  });

  it('that release 0.32 put into the queue is asked by the next mail', async () => {
    const id = await make();
    const done = await make();
    await decide(id, { status: 'hinweis', bemerkung: 'Von früher?' });
    await decide(done, { status: 'freigegeben' });
    await sql`delete from portal.mitteilung_offen`;
    const kept = { nutzerId: await nutzer('melder'), origin: 'http://n.test:8080', portal: 'Nordland' };
    for (const sichtbeobachtung of [id, done])
      await boss.boss.send(mitteilungQueue, { ...kept, kind: 'frage', sichtbeobachtung });
    await send();
    assert.equal(mails.length, 0);
    await sendLater();
    assert.match(decodeMail(mails[0]?.raw ?? ''), /entschieden: 1 mit Hinweis\.[\s\S]*Von früher\?/);
  });

  it('has a link that ends with the decision, after 30 days, and with the account', async () => {
    const decided = await ask('Sicher?');
    await decide(decided.id, { status: 'abgelehnt' });
    assert.equal((await answerBy(decided.link, 'Ja')).status, 409);
    assert.doesNotMatch((await open(decided.link)).text, /<textarea/);
    assert.equal((await stateOf(decided.id))?.status, 'abgelehnt');

    const old = await ask('Sicher?');
    await sql`update portal.sichtbeobachtung_link set angelegt = now() - interval '30 days 1 minute'`;
    assert.equal((await open(old.link)).status, 404);
    assert.equal((await answerBy(old.link, 'Ja')).status, 404);
    assert.equal((await stateOf(old.id))?.status, 'hinweis');

    const withdrawn = await ask('Sicher?');
    await sql`update portal.sichtbeobachtung set bereich = 'privat' where id = ${withdrawn.id}`;
    assert.equal((await answerBy(withdrawn.link, 'Ja')).status, 409);

    const blocked = await ask('Sicher?', { nutzer: 'nachbarin' });
    await sql`select api.set_nutzer_status(loginname => ${'nachbarin'}::text, status => 0)`;
    assert.equal((await answerBy(blocked.link, 'Ja')).status, 404);
    assert.equal((await open(blocked.link)).status, 404);
    await sql`select api.set_nutzer_status(loginname => ${'nachbarin'}::text, status => 1)`;
    assert.equal((await open(`${blocked.link}x`)).status, 404);
  });
});

describe('an address that is refused for good', () => {
  it('gets no more mails; administrators see it, and a new setting or a new address takes it back', async () => {
    const id = await nutzer('melder');
    const shown = async (as: Account) => (await service.request(`/nutzer/${id}`, { as })).json.result[0].mail_abgelehnt;
    assert.equal(await shown('admin'), false);
    refused.set('3@example.org', '550 5.1.1 User unknown');
    await decide(await make(), { status: 'freigegeben' });
    await send(true);
    refused.clear();
    assert.deepEqual([await shown('admin'), await shown('melder')], [true, true]);
    const get = async () => (await service.request('/pruefung/v1/mitteilungen', { below: '', as: 'melder' })).json.haeufigkeit;
    assert.equal(await get(), 'nie');
    await decide(await make(), { status: 'hinweis', bemerkung: 'Sicher?' });
    await send(true);
    assert.equal(mails.length, 0);
    await setTo('melder', 'taeglich');
    assert.deepEqual([await shown('admin'), await get()], [false, 'taeglich']);

    await sql`select api.set_mail_abgelehnt(nutzer_id => ${id}::bigint, email => 'nicht@example.org')`;
    assert.equal(await shown('admin'), false, 'another address');
    await sql`select api.set_mail_abgelehnt(nutzer_id => ${id}::bigint, email => '3@example.org')`;
    assert.equal(await shown('admin'), true);
    await sql`update portal.nutzer set email = 'neu@example.org' where id = ${id}`;
    service.forgetTokens();
    assert.deepEqual([await shown('admin'), await get()], [false, 'taeglich']);
    await sql`update portal.nutzer set email = '3@example.org' where id = ${id}`;
    service.forgetTokens();
    await setTo('melder', 'woechentlich');
  });
});

describe('the setting', () => {
  it('is an account’s own, and one of four words', async () => {
    assert.equal((await service.request('/pruefung/v1/mitteilungen', { below: '' })).status, 401);
    assert.equal((await setTo('expertin', 'stündlich')).status, 400);
    assert.deepEqual((await setTo('expertin', 'nie')).json, { haeufigkeit: 'nie' });
    const { json } = await service.request('/pruefung/v1/mitteilungen', { below: '', as: 'expertin' });
    assert.deepEqual(json, { haeufigkeit: 'nie' });
  });

  it('stands on the page of the own data', async () => {
    const path = await service.makeDatenLink('melder');
    const said = await service.request(path, { form: { aktion: 'mitteilungen', haeufigkeit: 'taeglich' } });
    assert.match(said.text, /<option value="taeglich" selected>täglich/);
    const { json } = await service.request('/pruefung/v1/mitteilungen', { below: '', as: 'melder' });
    assert.deepEqual(json, { haeufigkeit: 'taeglich' });
    await setTo('melder', 'woechentlich');
  });
});

describe('what is stored', () => {
  it('is in the archive of the own data, for recorders and experts', async () => {
    const { id, link } = await ask('Im Archiv?');
    await answerBy(link, 'Ja, im Archiv.');
    const read = async (account: Account) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const bytes = new Response(readable).arrayBuffer();
      await writeAuskunft(
        { sql, storage: service.media.storage },
        { nutzerId: await nutzer(account), zugangsstand: null },
        writable,
      );
      const files = await readZip(Buffer.from(await bytes));
      return JSON.parse(String(files.get('nachrichten.json'))) as { sichtbeobachtung_id: number; von: string; text: string }[];
    };
    const of = async (account: Account) =>
      (await read(account)).filter((each) => each.sichtbeobachtung_id === id).map(({ von, text }) => `${von}: ${text}`);
    assert.deepEqual(await of('melder'), ['experte: Im Archiv?', 'erfasser: Ja, im Archiv.']);
    assert.deepEqual(await of('expertin'), ['experte: Im Archiv?']);
    assert.deepEqual(await of('käfer anna'), []);
  });

  it('goes with the record, and without the person where the record stays', async () => {
    await sql`update portal.nutzer set email = 'weg@example.org' where loginname = 'nachbarin'`;
    const kept = await ask('Wer war das?', { nutzer: 'nachbarin' });
    await answerBy(kept.link, 'Das war Ödön Ünal.');
    const deleted = await make({ nutzer: 'nachbarin' });
    await decide(deleted, { status: 'hinweis', bemerkung: 'Und hier?' });
    await sql`delete from portal.sichtbeobachtung where id = ${deleted}`;
    await decide(kept.id, { status: 'freigegeben' });
    const id = await nutzer('nachbarin');
    await setNutzerLoeschung(sql, id, 'behalten');
    assert.equal((await open(kept.link)).status, 404);
    await send(true);
    assert.equal(mails.length, 1, 'the question alone');
    await eraseNutzer(boss, sql, id);
    const [left] = await sql`
      select (select string_agg(text, ' | ' order by id) from portal.nachricht where sichtbeobachtung_id in (${kept.id}, ${deleted})) as texts,
        (select count(*)::integer from portal.mitteilung where nutzer_id = ${id})
          + (select count(*)::integer from portal.mitteilung_offen where nutzer_id = ${id})
          + (select count(*)::integer from portal.sichtbeobachtung_link where nutzer_id = ${id}) as rows`;
    assert.deepEqual([left?.texts, left?.rows], ['Wer war das? | Das war […].', 0]);
  });
});
