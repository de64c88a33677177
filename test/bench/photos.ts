// Reports with a photo: how long the answer takes, and what the process needs for it.
import { makeJpeg, stackJpeg } from '../support/photo.ts';
import { headersOf } from './calls.ts';
import { readFacts } from './facts.ts';
import { medianOfNumbers } from './measure.ts';
import { readMemory, startService, watchMemory } from './servers.ts';
import type { Figure, TaskContext } from './tasks.ts';

const megabyte = 1024 * 1024;
const rounds = 5;

// As noisy as a meadow in the wind, which is what makes files of phones large.
async function makePhotos(): Promise<{ what: string; jpeg: Buffer }[]> {
  const small = await makeJpeg({ width: 4000, height: 3008, quality: 90, noise: 12 });
  const part = await makeJpeg({ width: 8000, height: 1504, quality: 85, noise: 6 });
  return [
    { what: '12 megapixels', jpeg: small },
    { what: '48 megapixels', jpeg: stackJpeg(part, 4) },
  ];
}

export async function measurePhotos({ sql, databaseUrl, size }: TaskContext): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { what, jpeg } of await makePhotos()) {
    if (jpeg.length > 12 * megabyte) throw new Error(`the photo of ${what} is too large: ${jpeg.length} bytes`);
    // A process of its own for each: memory is given back late.
    const service = await startService(databaseUrl);
    const facts = await readFacts(sql, size, service.url);
    const pid = service.running.process.pid ?? 0;
    const idle = (await readMemory(pid)) ?? Number.NaN;
    const stopWatching = watchMemory(pid);
    const seconds: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const form = new FormData();
      const fields = {
        art: facts.species[0]?.art ?? 0,
        lat: 5_550_000 + round,
        lon: 450_000 + jpeg.length / 1e6,
        datum: '01.05.2024',
      };
      for (const [name, value] of Object.entries(fields)) form.set(name, String(value));
      form.set('foto', new Blob([new Uint8Array(jpeg)], { type: 'image/jpeg' }), 'IMG_0001.jpg');
      const { host: _, ...headers } = headersOf(facts.differing, 900);
      const began = performance.now();
      const response = await fetch(`${service.url}/api/v2/sichtbeobachtungen`, { method: 'POST', headers, body: form });
      await response.arrayBuffer();
      if (response.status !== 201) throw new Error(`a report with ${what} was answered with ${response.status}`);
      seconds.push((performance.now() - began) / 1000);
    }
    const name = `POST with a photo of ${what}, ${(jpeg.length / megabyte).toFixed(1)} MiB`;
    figures.push(
      { what: name, value: medianOfNumbers(seconds), unit: 's' },
      { what: `${name}: memory of the process, at most`, value: stopWatching(), unit: 'MB' },
      { what: `${name}: memory of the process before`, value: idle, unit: 'MB' },
    );
    await service.running.stop();
  }
  return figures;
}
