// A ledger of what was sent and answered, kept while a service or its database fails: in the end it agrees with records, files and
// the protokoll.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/db/client.ts';

export interface Entry {
  /** Tells the record of this request. */
  remark: string;
  /** Null: none came. */
  status: number | null;
  id: number | null;
  retryAfter: string | null;
  /** When the answer was there, by performance.now(). */
  at: number;
  /** How long it took. */
  ms: number;
}

/**
 * Begins to report sightings on so many connections, one after the other on each, each written down before it is sent.
 * @returns ends it
 */
export function startReports(
  ledger: Entry[],
  clients: number,
  urlOf: () => string,
  headers: Record<string, string>,
  photo?: Blob,
): () => Promise<void> {
  let isOver = false;
  const report = async () => {
    while (!isOver) {
      const entry: Entry = { remark: `Nr. ${ledger.length}`, status: null, id: null, retryAfter: null, at: 0, ms: 0 };
      ledger.push(entry);
      const body = new FormData();
      const place = { lat: '5484000', lon: String(391000 + ledger.length) };
      for (const [name, value] of Object.entries({ art: '100', ...place, bemerkung: entry.remark })) body.append(name, value);
      if (photo) for (const name of ['foto', 'foto_2']) body.append(name, photo, 'x.jpg');
      const begin = performance.now();
      try {
        const answer = await fetch(`${urlOf()}/api/v2/sichtbeobachtungen`, { method: 'POST', headers, body });
        const { result } = (await answer.json()) as { result?: { id: number }[] };
        Object.assign(entry, {
          status: answer.status,
          id: result?.[0]?.id ?? null,
          retryAfter: answer.headers.get('retry-after'),
        });
      } catch {
        await sleep(20);
      }
      entry.at = performance.now();
      entry.ms = entry.at - begin;
    }
  };
  const reports = Array.from({ length: clients }, report);
  return async () => {
    isOver = true;
    await Promise.all(reports);
  };
}

/** Every answer of the ledger is true, and whatever has none happened as a whole or not at all. */
export async function assertAgrees(databaseUrl: string, ledger: Entry[], dataDir = '', files: 0 | 2 = 0): Promise<void> {
  const database = await openDatabase({ databaseUrl, dataDir: '' });
  const rows = await database.sql`
    select s.id, s.bemerkung as remark, to_json(array_remove(array[s.foto, s.foto_2], null)) as files,
      (select count(*)::integer from portal.protokoll p where p.sichtbeobachtung_id = s.id and p.audit = 'CREATE') as entries
    from portal.sichtbeobachtung s where s.bemerkung like 'Nr. %' order by s.id`.finally(() => database.close());
  const stored = new Set(
    (await readdir(join(dataDir, 'media'), { recursive: true }).catch(() => [])).map((path) => path.split('/').at(-1)),
  );
  const known = new Map(rows.map((row) => [row.remark, row]));
  assert.equal(known.size, rows.length, 'a report is stored twice');
  for (const { remark, status, id } of ledger) {
    const row = known.get(remark);
    if (status === 201) assert.equal(row?.id, id, `${remark} was acknowledged`);
    // Whether a commit whose answer was lost took place, nobody knows but the database.
    else if (status !== null && status < 500) assert.equal(row, undefined, `${remark} is stored after ${status}`);
  }
  for (const row of rows) {
    assert.equal(row.files.length, files, `half of ${row.remark} is there`);
    for (const name of row.files) assert.ok(stored.has(name), `${row.remark} names a file that is missing`);
    assert.equal(row.entries, 1, `entries in the protokoll for ${row.remark}`);
  }
}
