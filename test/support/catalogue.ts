// The catalogue of the tests: three square tenants, so that a place tells by its numbers where it lies.
//
//   N  n.test   x 400 000 … 452 000   y 5 500 000 … 5 560 000      N and S share a border that cuts
//   S  s.test   x 452 000 … 500 000   y 5 500 000 … 5 560 000      the cells 450 000 … 455 000
//   W  w.test   x 300 000 … 340 000   y 5 500 000 … 5 560 000      touches neither
import type { Sql } from '../../src/db/client.ts';
import { hashPassword, sha1OfPlain } from '../../src/guard/password.ts';

export const arten = {
  /** sensitive everywhere */
  uhu: 1,
  /** sensitive nowhere */
  amsel: 2,
  /** sensitive at S only */
  wanderfalke: 3,
  /** sensitive at W only */
  rotmilan: 4,
  /** N has names of its own for it */
  tagpfauenauge: 5,
  hornisse: 6,
  /** a lichen, defined at N only */
  gelbflechte: 7,
} as const;

/** Accounts; the password of each is its login name. */
export const accounts = [
  'admin',
  'expertin',
  'vogelexperte',
  'melder',
  'nachbarin',
  'gesperrt',
  'käfer anna',
  'südexpertin',
] as const;
export type Account = (typeof accounts)[number];

export async function loadTestCatalogue(sql: Sql): Promise<void> {
  await sql
    .unsafe(`
    insert into portal.mandant (kuerzel, name, schluessel, domains, boundary)
    select k, n, s, array[lower(k) || '.test', lower(k) || '2.test'], st_multi(st_makeenvelope(x1, 5500000, x2, 5560000, 25832))
    from (values ('N', 'Nordland', '01', 400000, 452000), ('S', 'Südland', '02', 452000, 500000), ('W', 'Westland', null, 300000, 340000))
      t (k, n, s, x1, x2);

    insert into portal.artengruppe values
      (1, 'Vögel', true, 11), (2, 'Tagfalter', true, 12), (3, 'Flechten', false, 13);

    insert into portal.art (id, gid, name_wissenschaftlich, name_deutsch, eu_guid) values
      (1, 1, 'Bubo bubo', 'Uhu', 'eu-1'), (2, 1, 'Turdus merula', 'Amsel', 'eu-2'),
      (3, 1, 'Falco peregrinus', 'Wanderfalke', 'eu-3'), (4, 1, 'Milvus milvus', 'Rotmilan', 'eu-4'),
      (5, 2, 'Aglais io', 'Tagpfauenauge', 'eu-5'), (6, 2, 'Vespa velutina', 'Asiatische Hornisse', 'eu-6'),
      (7, 3, 'Xanthoria parietina', 'Gewöhnliche Gelbflechte', null);

    insert into portal.art_mandant (mandant_id, art, art_id, name_wissenschaftlich, name_deutsch, sensibel, legacy_regional_art_id)
    select m.id, a.id, m.kuerzel || '-' || a.id,
      case when m.kuerzel = 'N' and a.id = 5 then 'Inachis io' end,
      case when m.kuerzel = 'N' and a.id = 5 then 'Pfauenauge' end,
      a.id = 1 or (a.id = 3 and m.kuerzel = 'S') or (a.id = 4 and m.kuerzel = 'W'),
      100 * m.id + a.id
    from portal.mandant m, portal.art a
    where a.id < 7 or m.kuerzel = 'N';

    insert into portal.stadium values (1, 'Imago', true), (2, 'Raupe', false);
    insert into portal.aktivitaet values (1, 'ruhend'), (2, 'fliegend');
  `)
    .simple();

  for (const account of accounts) {
    const rolle =
      { admin: 'administrator', expertin: 'expert', vogelexperte: 'expert', südexpertin: 'expert' }[account as string] ?? null;
    const [vorname, nachname] = { melder: ['Max', 'Muster'], nachbarin: ['Ödön', 'Ünal'] }[account as string] ?? [
      'Vera',
      account,
    ];
    await sql`
      select api.create_nutzer(
        loginname => ${account}::text, email => ${`${accounts.indexOf(account)}@example.org`}::text, vorname => ${vorname ?? ''}::text,
        nachname => ${nachname ?? ''}::text, anonymisiert => ${account === 'nachbarin' ? 1 : 0}::integer, rolle => ${rolle}::text,
        artengruppen => ${account === 'vogelexperte' ? '{1}' : '{}'}::integer[], mandanten => ${account === 'südexpertin' ? '{S}' : '{}'}::text[],
        password_hash => ${await hashPassword(sha1OfPlain(account))}::text)`;
  }
  await sql`select api.set_nutzer_status(loginname => ${'gesperrt'}::text, status => 0)`;
}
