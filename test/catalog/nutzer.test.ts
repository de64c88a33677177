// Accounts of another portal, many at once: without a password, and free for nobody else.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { importNutzer } from '../../src/catalog/nutzer.ts';
import { ImportError } from '../../src/catalog/problems.ts';
import { sha1OfPlain } from '../../src/guard/password.ts';
import { idOf, problemsOf, withFile } from '../support/import.ts';
import { pluck, startTestService } from '../support/service.ts';

const service = await startTestService();
const { sql } = service.database;

const header = 'loginname,email,vorname,nachname,anonymisiert,rolle,artengruppen';
const load = (content: string, options: { dryRun?: boolean; ignoreColumns?: boolean; warn?(sentence: string): void } = {}) =>
  withFile('leute.csv', content, (path) =>
    importNutzer(service.database, path, { dryRun: false, ignoreColumns: false, warn() {}, ...options }),
  );

async function countAccounts(): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::integer as count from portal.nutzer`;
  return row?.count ?? -1;
}

describe('an import of accounts', () => {
  it('stores each with its role and groups, and leaves those that are there as they are', async () => {
    const csv = `${header}
anna.neu,Anna@Example.org,Anna,Neu,1,,
"Bert, der Ältere",bert@example.org,Bert,Neu,,expert,"1,2"
ohne.adresse,,Clara,Neu,0,administrator,
`;
    const before = await countAccounts();
    assert.deepEqual(await load(csv, { dryRun: true }), { created: 3, known: 0 });
    assert.equal(await countAccounts(), before);
    assert.deepEqual(await load(csv), { created: 3, known: 0 });
    const rows = await sql`
      select u.loginname, u.email, u.vorname, u.anonymisiert, u.status, u.password_hash,
        (select coalesce(json_agg(r.rolle), '[]') from portal.nutzer_rolle r where r.nutzer_id = u.id) as rollen,
        (select coalesce(json_agg(a.gid order by a.gid), '[]') from portal.nutzer_artengruppe a where a.nutzer_id = u.id) as gruppen
      from portal.nutzer u where u.nachname = 'Neu' order by u.id`;
    const shared = { status: 1, password_hash: null, rollen: [], gruppen: [] };
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { ...shared, loginname: 'anna.neu', email: 'Anna@Example.org', vorname: 'Anna', anonymisiert: 1 },
        {
          ...{ ...shared, loginname: 'Bert, der Ältere', email: 'bert@example.org', vorname: 'Bert', anonymisiert: 0 },
          ...{ rollen: ['expert'], gruppen: [1, 2] },
        },
        { ...shared, loginname: 'ohne.adresse', email: null, vorname: 'Clara', anonymisiert: 0, rollen: ['administrator'] },
      ],
    );
    const again = `${header}\nANNA.NEU,anna@example.org,Andere,Andere,0,administrator,\ndora,dora@example.org,Dora,Neu,,,\n`;
    assert.deepEqual(await load(again), { created: 1, known: 1 });
    assert.deepEqual(await load(csv, { warn: assert.fail }), { created: 0, known: 3 }, 'the same again is no news');
    const [anna] = await sql`select vorname, nachname from portal.nutzer where loginname = 'anna.neu'`;
    assert.deepEqual({ ...anna }, { vorname: 'Anna', nachname: 'Neu' });
  });

  it('says which rights it does not give to accounts that are there already', async () => {
    const columns = 'loginname,vorname,nachname,rolle,artengruppen,mandanten';
    await load(`${columns}\neins,E,E,expert,1,\nzwei,E,E,expert,"1,2","N,w"\ndrei,E,E,,,\n`);
    const rows = await sql`
      select u.loginname, array_to_string(array(
        select m.kuerzel from portal.nutzer_mandant n join portal.mandant m on m.id = n.mandant_id where n.nutzer_id = u.id order by 1), ' ') as mandanten
      from portal.nutzer u where u.nachname = 'E' order by u.id`;
    const before = [...rows];
    assert.deepEqual(pluck(before, 'mandanten'), ['', 'N W', '']);
    const hints: string[] = [];
    const again = `${columns}\neins,E,E,expert,"1,2",N\nzwei,E,E,expert,"2,1","W,n"\ndrei,E,E,administrator,,n\nvier,E,V,expert,,N\n`;
    for (const dryRun of [true, false]) {
      assert.deepEqual(await load(again, { dryRun, warn: (sentence) => hints.push(sentence) }), { created: 1, known: 3 });
      const says = (column: string, lines: string) =>
        `leute.csv: ${column} gilt nicht für Konten, die es schon gibt und die etwas anderes haben: Zeile ${lines}`;
      assert.deepEqual(hints.splice(0).sort(), [says('artengruppen', '2'), says('mandanten', '2, 4'), says('rolle', '4')]);
    }
    assert.deepEqual(
      await load(`${columns}\nzwei,E,E,,,\n`, { warn: assert.fail }),
      { created: 0, known: 1 },
      'what is empty says nothing',
    );
  });

  it('gives nobody a way in but the owner of the address', async () => {
    await load(`${header}\nweg,weg@example.org,Ina,Weg,,,\n`);
    for (const passwort of ['', 'x', 'null']) {
      const query = new URLSearchParams({ loginname: 'weg', password: sha1OfPlain(passwort) });
      const answer = await service.request(`/login?${query}`);
      assert.deepEqual([answer.status, answer.text], [200, '']);
    }
    const mails = service.mails.length;
    assert.ok((await service.request('/passwort', { method: 'POST', form: { loginname: 'weg' } })).status < 300);
    assert.equal(service.mails.length, mails + 1);
    assert.equal(service.mails.at(-1)?.nutzerId, await idOf(service.database, 'weg'));
  });

  it('waits for its people as long as it takes: registering frees only what registered itself', async () => {
    await load(`${header}\nspaet,spaet@example.org,Eva,Spät,,,\n`);
    const register = (loginname: string, email: string) =>
      service.request('/register', { method: 'POST', form: { loginname, email, vorname: 'E', nachname: 'S' } });
    assert.equal((await register('selbst', 'selbst@example.org')).status, 200);
    await sql`
      update portal.nutzer set angelegt = now() - interval '30 days' where loginname in ('spaet', 'selbst')`;
    const taken = await register('spaet', 'fremd@example.org');
    assert.equal(taken.status, 400);
    assert.match(taken.json.error.fields.loginname, /vergeben/);
    assert.equal((await register('selbst', 'anders@example.org')).status, 200);
    // The address leads to its owner, who is told.
    assert.equal((await register('neuer.name', 'spaet@example.org')).status, 200);
    assert.equal(service.mails.at(-1)?.nutzerId, await idOf(service.database, 'spaet'));
  });
});

describe('a file of accounts', () => {
  it('names have one form, however a document wrote them', async () => {
    await load(`${header}\nfalten,,Anna\u00a0 Ma\u00adria,\u200bvon\u202fNeu\ufeff,,,\n`);
    const [row] = await sql`select vorname, nachname from portal.nutzer where loginname = 'falten'`;
    assert.deepEqual({ ...row }, { vorname: 'Anna Maria', nachname: 'von Neu' });
    const found = await service.request('/nutzer?name_regexp_ci=%5Evon%C2%A0neu%24', { as: 'admin' });
    assert.deepEqual(pluck(found.json.result, 'loginname'), ['falten']);
  });

  it('is loaded as a spreadsheet leaves it: mixed line ends, columns without names, rows without content', async () => {
    const rows = ['excel1,excel1@example.org,"Ä,B",C,,,,,', 'excel2,,D,E,,expert,"1,2",,', ',,,,,,,,', ', ,,  ,,,,,'];
    for (const [ends, known] of [
      [['\r\n', '\n'], 0],
      [['\n', '\r\n'], 2],
    ] as const) {
      const hints: string[] = [];
      const content = `${header},,${ends[0]}${[...rows, ...Array(40).fill(',,,,,,,,')].join(ends[1])}`;
      assert.deepEqual(await load(content, { warn: (sentence) => hints.push(sentence) }), { created: 2 - known, known });
      assert.deepEqual(hints, ['leute.csv: 42 leere Zeilen ausgelassen']);
    }
  });

  const refused: [what: string, content: string, ...problems: string[]][] = [
    ['without its columns', 'loginname\na\n', '1: Spalte vorname fehlt', '1: Spalte nachname fehlt'],
    [
      'with wrong cells',
      `${header}\n,x,,N,2,chef,"1,x"\n`,
      '2: loginname ist leer, erlaubt ist ein Text',
      '2: email ist „x“, erlaubt ist eine E-Mail-Adresse wie name@example.org',
      '2: vorname ist leer, erlaubt ist ein Text',
      '2: anonymisiert ist „2“, erlaubt ist 0 oder 1',
      '2: rolle ist „chef“, erlaubt ist expert oder administrator',
      '2: artengruppen ist „1,x“, erlaubt ist eine Liste von Nummern mit Komma dazwischen',
    ],
    [
      'with names and addresses that others have',
      `${header}\nMelder,neu@example.org,A,B,,,\nneu,0@example.org,A,B,,,\nx1,x@example.org,A,B,,,\nX1,y@example.org,A,B,,,\nx2,X@example.org,A,B,,,\n`,
      '2: loginname „Melder“ gehört zu einem Konto mit einer anderen Adresse',
      '3: email „0@example.org“ gehört zu einem anderen Konto',
      '5: loginname „X1“ steht schon in Zeile 4',
      '6: email „X@example.org“ steht schon in Zeile 4',
    ],
    [
      'with addresses that are none, or one in two spellings',
      `${header}\nm1,"o'neill@müller.example",A,B,,,\nm2,O'Neill@xn--mller-kva.example,A,B,,,\nm3,a@b,A,B,,,\n`,
      "3: email „O'Neill@xn--mller-kva.example“ steht schon in Zeile 2",
      '4: email ist „a@b“, erlaubt ist eine E-Mail-Adresse mit einer Domain wie example.org hinter dem @',
    ],
    [
      'with groups that there are not',
      `${header}\nneu,,A,B,,expert,"1,77"\n`,
      '2: artengruppen enthält „77“, diese Artengruppe gibt es nicht',
    ],
  ];
  for (const [what, content, ...problems] of refused) {
    it(`${what} is refused whole, by line`, async () => {
      const before = await countAccounts();
      const good = content.endsWith('\n') && content.startsWith(header) ? `${content}gut,gut@example.org,G,U,,,\n` : content;
      assert.deepEqual(await problemsOf(load(good)), problems);
      assert.equal(await countAccounts(), before);
    });
  }

  it('may have columns that mean nothing here, when they are to be left out', async () => {
    const csv = 'loginname,vorname,nachname,lieblingsart\nlina,L,I,Uhu\n';
    await assert.rejects(load(csv), ImportError);
    assert.deepEqual(await load(csv, { ignoreColumns: true }), { created: 1, known: 0 });
  });
});
