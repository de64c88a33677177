// Kept answers: how many still hold after one record was released somewhere else.
import { readCases } from './cases.ts';
import { pick, readFacts } from './facts.ts';
import { outputCases } from './outputs.ts';
import { startService } from './servers.ts';
import type { Figure, TaskContext } from './tasks.ts';

const groups = {
  'boxes, tenants, records, tiles from zoom 10': ['bbox10', 'bbox100', 'mandant', 'detail', 'tile10', 'tile14'],
  'lists of the whole country': ['newest', 'species', 'year'],
};
const releases = 10;

export async function measureKept({ sql, databaseUrl, size }: TaskContext): Promise<Figure[]> {
  const service = await startService(databaseUrl);
  const facts = await readFacts(sql, size, service.url);
  const figures: Figure[] = [];
  let days = 0;
  for (const [what, names] of Object.entries(groups)) {
    const cases = [...readCases, ...outputCases].filter(({ name }) => names.includes(name));
    const calls = (await Promise.all(cases.map((each) => each.calls(facts)))).flat();
    const readTags = async () => {
      const found: (string | null)[] = [];
      for (const { path, headers } of calls) {
        const { host: _, ...others } = headers;
        const response = await fetch(service.url + path, { headers: others });
        await response.arrayBuffer();
        if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}`);
        found.push(response.headers.get('etag'));
      }
      return found;
    };
    let tags = await readTags();
    let same = 0;
    for (let n = 0; n < releases; n++) {
      const { x, y } = pick(facts.places, n, 'release');
      await sql`
        insert into portal.sichtbeobachtung (nutzer_id, art, point, datum, bereich, status)
        select 500, ${facts.species[n]?.art ?? 0}, st_setsrid(st_makepoint(${x}::float8, ${y}::float8), 25832), date '2024-05-01' + ${++days}::integer, 'oeffentlich', 'freigegeben'`;
      const present = await readTags();
      same += present.filter((tag, at) => tag === tags[at]).length;
      tags = present;
    }
    figures.push({
      what: `kept answers that hold after a release anywhere: ${what}`,
      value: (100 * same) / (releases * calls.length),
      unit: '%',
    });
  }
  await service.running.stop();
  return figures;
}
