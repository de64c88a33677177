// Writes a catalogue that was read and checked: everything or nothing.
import { randomUUID } from 'node:crypto';
import { type Database, type Sql, type Transaction, withClient } from './client.ts';
import { oneRow, oneValue } from './row.ts';
import type * as schema from './schema.ts';
import { analyzeRecords } from './statistics.ts';

type Insert<T extends { $inferInsert: unknown }> = T['$inferInsert'];

/** Licences under which a tenant may publish its files (O5.1). */
export const lizenzen = ['CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0', 'dl-de/by-2-0', 'dl-de/zero-2-0', 'ODbL-1.0'] as const;

export interface NewMandant {
  kuerzel: string;
  name: string;
  schluessel: string | null;
  domains: string[];
  /** Polygon or MultiPolygon, EPSG:4326. */
  geojson: string;
  /** Whether everybody is shown the remark and the biotope photo of a protected record (D6.5). */
  bemerkung_geschuetzter: 'zeigen' | 'verbergen';
  /** Null: it publishes nothing. With a licence none of the others is null. */
  lizenz: (typeof lizenzen)[number] | null;
  herausgeber: string | null;
  /** A mail address. */
  kontakt: string | null;
  titel: string | null;
  beschreibung: string | null;
}

export type NewPruefregel = Omit<Insert<typeof schema.pruefregel>, 'mandant_id'> & {
  /** Null: for all tenants that have no rule of their own. */
  mandant: string | null;
  /** WKT, EPSG:4326. */
  gebiet: string | null;
  /** Of the file. */
  line: number;
};

/** null: the file was not given, what is in the database stays. */
export interface Catalogue {
  mandanten: NewMandant[];
  artengruppen: Insert<typeof schema.artengruppe>[];
  arten: Insert<typeof schema.art>[];
  artenMandanten: (Omit<Insert<typeof schema.artMandant>, 'mandant_id'> & { mandant: string })[];
  artenFotos: Insert<typeof schema.artFoto>[] | null;
  verwechslungen: Insert<typeof schema.verwechslung>[] | null;
  verwechslungArten: Insert<typeof schema.verwechslungArt>[] | null;
  verwechslungFotos: Insert<typeof schema.verwechslungFoto>[] | null;
  stadien: Insert<typeof schema.stadium>[] | null;
  aktivitaeten: Insert<typeof schema.aktivitaet>[] | null;
  pruefregeln: NewPruefregel[] | null;
}

/** What a catalogue may refer to without containing it. */
export interface KnownIds {
  mandanten: string[];
  artengruppen: number[];
  arten: number[];
}

export async function listKnownIds(sql: Sql): Promise<KnownIds> {
  return oneRow(sql<KnownIds[]>`
    select array_to_json(array(select m.kuerzel from portal.mandant m)) as mandanten,
      array_to_json(array(select g.id from portal.artengruppe g)) as artengruppen,
      array_to_json(array(select a.id from portal.art a)) as arten`);
}

/** What speaks against the boundary of a tenant. */
export interface GrenzMangel {
  mangel: 'lage' | 'vertauscht' | 'klein' | 'flaeche' | 'ort';
  /** The number that is too small or too large, in km² or percent. */
  wert: number | null;
}

/**
 * What speaks against giving a tenant this boundary. Fails with SQLSTATE GRENZ, PROJK or GBIET when it is unusable.
 * @param mandant repairable: few lines of its boundary cross
 * @param force large changes are accepted
 */
export async function listMandantMangel(
  sql: Sql,
  mandant: { kuerzel: string; geojson: string; repairable: boolean },
  force: boolean,
): Promise<GrenzMangel[]> {
  return [
    ...(await sql<GrenzMangel[]>`
      select * from api.list_mandant_mangel(
        kuerzel => ${mandant.kuerzel}::text, geojson => ${mandant.geojson}::text, repairable => ${mandant.repairable}::boolean,
        erzwungen => ${force}::boolean)`),
  ];
}

/** What speaks against the region of a rule, WKT; null for nothing. */
export async function getGebietMangel(sql: Sql, gebiet: string): Promise<'form' | 'ecken' | 'kreuzt' | 'lage' | null> {
  return oneValue(sql`select api.get_gebiet_mangel(gebiet => ${gebiet}::text)`);
}

/** Pairs of tenants that have the same area; asked in the transaction that writes them. */
export async function listMandantGleich(tx: Transaction): Promise<{ kuerzel: string; anderer: string }[]> {
  return [...(await tx<{ kuerzel: string; anderer: string }[]>`select kuerzel, anderer from api.list_mandant_gleich()`)];
}

/**
 * Loads or updates a catalogue. Tenants, groups, species, stages and activities are added or updated, never removed. For
 * the tenants in it, the definitions of species become exactly those given; so do photos and confusables of its species, and all rules.
 * Runs in a transaction of its own, with `alongside` in it.
 */
export async function loadCatalogue(
  database: Database,
  catalogue: Catalogue,
  report: (label: string, done: number, total: number) => void = () => {},
  alongside: (tx: Transaction) => Promise<void> = async () => {},
): Promise<void> {
  await withClient(database, {}, async (client) => {
    await client.begin(async (tx) => {
      const ids = new Map<string, number>();
      for (const [index, mandant] of catalogue.mandanten.entries()) {
        report('Mandanten', index, catalogue.mandanten.length);
        const domains = `{${mandant.domains.map((domain) => JSON.stringify(domain)).join(',')}}`;
        await tx`
          select api.set_mandant(
            kuerzel => ${mandant.kuerzel}::text, name => ${mandant.name}::text, schluessel => ${mandant.schluessel}::text,
            domains => ${domains}::text[], geojson => ${mandant.geojson}::text,
            bemerkung_geschuetzter => ${mandant.bemerkung_geschuetzter}::text)`;
        await tx`
          select api.set_mandant_lizenz(
            kuerzel => ${mandant.kuerzel}::text, lizenz => ${mandant.lizenz}::text, herausgeber => ${mandant.herausgeber}::text,
            kontakt => ${mandant.kontakt}::text, titel => ${mandant.titel}::text, beschreibung => ${mandant.beschreibung}::text)`;
      }
      for (const row of await tx<{ id: number; kuerzel: string }[]>`select id, kuerzel from portal.mandant`) {
        ids.set(row.kuerzel.toLowerCase(), row.id);
      }
      const upsert = (label: string, table: CatalogueTable, rows: object[] | null, key: string[]) =>
        upsertRows(tx, table, rows ?? [], key, (done, total) => report(label, done, total));

      await upsert('Artengruppen', 'artengruppe', catalogue.artengruppen, ['id']);
      await upsert('Stadien', 'stadium', catalogue.stadien, ['id']);
      await upsert('Aktivitäten', 'aktivitaet', catalogue.aktivitaeten, ['id']);
      await upsert('Arten', 'art', catalogue.arten, ['id']);

      const definitions = catalogue.artenMandanten.map(({ mandant, ...row }) => ({
        ...row,
        mandant_id: ids.get(mandant.toLowerCase()) ?? 0,
      }));
      const given = JSON.stringify(definitions.map(({ mandant_id, art, art_id }) => ({ mandant_id, art, art_id })));
      const inFile = tx`json_to_recordset(${given}::text::json) n (mandant_id integer, art integer, art_id text)`;
      await tx`
        delete from portal.art_mandant am
        where am.mandant_id in (select n.mandant_id from ${inFile})
          and not exists (select from ${inFile} where n.mandant_id = am.mandant_id and n.art = am.art)`;
      // An art_id may move from one species to another: those that change are freed first.
      await tx`
        update portal.art_mandant am
        set art_id = ${`frei ${randomUUID()} `}::text || am.art
        from ${inFile}
        where n.mandant_id = am.mandant_id and n.art = am.art and n.art_id <> am.art_id`;
      await upsert('Arten der Mandanten', 'art_mandant', definitions, ['mandant_id', 'art']);

      const arten = `{${catalogue.arten.map((art) => art.id)}}`;
      for (const [table, rows] of [
        ['art_foto', catalogue.artenFotos],
        ['verwechslung', catalogue.verwechslungen],
        ['verwechslung_art', catalogue.verwechslungArten],
        ['verwechslung_foto', catalogue.verwechslungFotos],
      ] as const) {
        if (rows === null) continue;
        await tx`delete from portal.${tx(table)} t where t.art = any (${arten}::integer[])`;
        await upsertRows(tx, table, rows, [], () => {});
      }
      if (catalogue.pruefregeln !== null) {
        const rules = catalogue.pruefregeln.map(({ mandant, gebiet, line: _, ...row }) => ({
          ...row,
          mandant_id: mandant === null ? null : ids.get(mandant.toLowerCase()),
          gebiet: gebiet === null ? null : `SRID=4326;${gebiet}`,
        }));
        await tx`delete from portal.pruefregel`;
        await upsert('Prüfregeln', 'pruefregel', rules, ['art', 'mandant_id']);
      }
      await alongside(tx);
    });
    // Fresh statistics at once: plans made for an empty table would stay until autovacuum comes by.
    await client`analyze portal.art, portal.art_mandant, portal.mandant_zelle, portal.mandant_teil, portal.raster_zelle`;
    await analyzeRecords(client);
  });
}

/** Tenants as they are, those that came first first; boundaries with nine decimals (a tenth of a millimetre). */
export async function listPresentMandant(sql: Sql): Promise<NewMandant[]> {
  const rows = await sql<(Omit<NewMandant, 'domains'> & { domains: string })[]>`
    select m.kuerzel, m.name, m.schluessel, array_to_json(m.domains)::text as domains, m.bemerkung_geschuetzter,
      m.lizenz, m.herausgeber, m.kontakt, m.titel, m.beschreibung,
      st_asgeojson(st_transform(m.boundary, 4326), 9) as geojson
    from portal.mandant m
    order by m.id`;
  return rows.map((row) => ({ ...row, domains: JSON.parse(row.domains) as string[] }));
}

/**
 * Rows of a table of the catalogue as they are, in a stable order.
 * @param columns names of the file's columns; `mandant` stands for the tenant's kuerzel
 */
export async function listPresentRows(sql: Sql, table: CatalogueTable, columns: string[]): Promise<Record<string, unknown>[]> {
  const computed: Record<string, string> = { mandant: 'm.kuerzel as mandant', gebiet: 'st_astext(t.gebiet) as gebiet' };
  const names = columns.map((name) => computed[name] ?? `t."${name}"`).join(', ');
  const join = columns.includes('mandant') ? 'left join portal.mandant m on m.id = t.mandant_id' : '';
  return [...(await sql.unsafe(`select ${names} from portal.${table} t ${join} order by ${presentOrder[table]}`))];
}

const presentOrder = {
  artengruppe: 't.id',
  art: 't.id',
  art_mandant: 't.mandant_id, t.art',
  art_foto: 't.id',
  verwechslung: 't.art',
  verwechslung_art: 't.art, t.aid',
  verwechslung_foto: 't.id',
  stadium: 't.id',
  aktivitaet: 't.id',
  pruefregel: 't.art, t.mandant_id nulls first',
} as const;
export type CatalogueTable = keyof typeof presentOrder;

// So many rows to a statement, so that its progress shows.
const rowsPerStatement = 2000;

// The database makes rows of the JSON, whose members are named as the columns; all rows have the same ones.
async function upsertRows(
  tx: Transaction,
  table: CatalogueTable,
  rows: readonly object[],
  key: readonly string[],
  report: (done: number, total: number) => void,
): Promise<void> {
  const names = Object.keys(rows[0] ?? {});
  const columns = names.join(', ');
  const set = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  const conflict = key.length === 0 ? '' : `on conflict (${key.join(', ')}) do update set ${set.join(', ')}`;
  for (let at = 0; at < rows.length; at += rowsPerStatement) {
    report(at, rows.length);
    await tx.unsafe(
      `insert into portal.${table} (${columns})
      select ${columns} from json_populate_recordset(null::portal.${table}, $1::text::json) ${conflict}`,
      [JSON.stringify(rows.slice(at, at + rowsPerStatement))],
    );
  }
}
