// One request of a case, as a client sends it and as the service hands it to the database.
import type { Sql } from '../../src/db/client.ts';
import { listSichtbeobachtung, type SichtbeobachtungFilter } from '../../src/db/sichtbeobachtung.ts';

export interface Call {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  headers: Record<string, string>;
  body?: string;
  /** Made anew for every request that is sent; what it returns replaces the above. */
  renew?: () => { path?: string; body?: string };
  /** The statement that the service sends for it, for pgbench. */
  statement?: string;
  /** What the naive handler is asked for the same page. */
  naive?: NaivePage;
  /** The same page as a GraphQL request. */
  graphql?: string;
}

/** A page as the naive handler takes it. */
export interface NaivePage {
  tenant: number;
  artId: string | null;
  /** Number of the same species. */
  art: number | null;
  bbox: readonly number[] | null;
}

/** A text that stands in a statement as it is: a variable of pgbench. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * The statement that a function of src/db sends, its values written into it.
 * @param call calls the function with the client that it is given
 */
export async function captureStatement(call: (sql: Sql) => Promise<unknown>): Promise<string> {
  let text = '';
  const client = (strings: TemplateStringsArray, ...values: unknown[]) => {
    text = strings.reduce((sum, part, index) => `${sum}${toLiteral(values[index - 1])}${part}`);
    const answer = Promise.resolve([{}]);
    return Object.assign(answer, { raw: () => answer.then(() => [[Buffer.alloc(0)]]) });
  };
  // Of a transaction its last statement: those before it set a role.
  const begin = (_options: string, run: (tx: unknown) => Promise<unknown>) => run(client);
  await call(Object.assign(client, { begin }) as unknown as Sql);
  return text.trim();
}

function toLiteral(value: unknown): string {
  if (value instanceof Raw) return value.text;
  return value === null || value === undefined ? 'null' : `'${String(value).replaceAll("'", "''")}'`;
}

export interface Tenant {
  id: number;
  host: string;
  kuerzel: string;
}

export interface ListRequest {
  tenant: Tenant;
  /** Number of a generated account. */
  reader?: number | null;
  filter?: Partial<SichtbeobachtungFilter>;
  /** Number of the species of the filter. */
  art?: number;
  limit?: number;
  /** Where the page begins: for the database and for the interface. */
  after?: { id: number; cursor: string } | null;
  format?: 'xml';
}

/** A page of the list. */
export async function listCall({
  tenant,
  reader = null,
  filter = {},
  art,
  limit = 100,
  after = null,
  format,
}: ListRequest): Promise<Call> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(filter))
    parameters.set(name, name.startsWith('datum') ? toGerman(String(value)) : `${value}`);
  if (limit !== 100) parameters.set('limit', String(limit));
  if (after !== null) parameters.set('cursor', after.cursor);
  if (format) parameters.set('format', format);
  const page = { tenant: tenant.id, artId: filter.art_id ?? null, art: art ?? null, bbox: filter.bbox ?? null };
  return {
    method: 'GET',
    path: `/api/v2/sichtbeobachtungen?${parameters}`,
    headers: headersOf(tenant, reader),
    statement: await captureStatement((sql) =>
      listSichtbeobachtung(sql, tenant.id, reader, { bereich: 'oeffentlich', ...filter }, after?.id ?? null, limit),
    ),
    naive: page,
    graphql: toGraphql(page),
  };
}

const graphqlFields = `nodes { rowId guid bereich status anzahl lat lon datum titelDeutsch titelWissenschaftlich foto foto2 foto3
  biotopfoto audio bemerkung phaenogramm artId legacyRegionalArtId isAnimal isRasterized sensibleArt sensibel }
  pageInfo { hasNextPage endCursor }`;

// With variables, so that PostGraphile plans each kind of page once.
function toGraphql({ art, bbox }: NaivePage): string {
  if (bbox !== null) {
    const [x1, y1, x2, y2] = bbox;
    const query = `query ($x1: Float!, $y1: Float!, $x2: Float!, $y2: Float!) {
      sichtbeobachtungInBox(x1: $x1, y1: $y1, x2: $x2, y2: $y2, first: 100) { ${graphqlFields} } }`;
    return JSON.stringify({ query, variables: { x1, y1, x2, y2 } });
  }
  if (art !== null) {
    // By its number, which has an index: by the tenant's name for it, PostgreSQL walked all sightings.
    const query = `query ($aid: Int!) {
      allSichtbeobachtungs(condition: { aid: $aid }, first: 100, orderBy: PRIMARY_KEY_DESC) { ${graphqlFields} } }`;
    return JSON.stringify({ query, variables: { aid: art } });
  }
  return JSON.stringify({ query: `{ allSichtbeobachtungs(first: 100, orderBy: PRIMARY_KEY_DESC) { ${graphqlFields} } }` });
}

/** What selects the tenant and names the account; the access keys of generated accounts are their login names. */
export function headersOf(tenant: Tenant, reader: number | null): Record<string, string> {
  return {
    host: tenant.host,
    ...(reader !== null && { 'x-auth-user': `bench-${reader}`, 'x-auth-token': `bench-${reader}` }),
  };
}

/** YYYY-MM-DD as the interface writes it. */
export function toGerman(date: string): string {
  return date.split('-').reverse().join('.');
}
