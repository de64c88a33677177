// PostGIS for PGlite comes as one bundle of 80 MB with raster, topology and a geocoder for the USA. PGlite compiles every
// library of a bundle at each start, three of 16 MB. Without the two that nothing here uses, a start takes 1.5 s instead
// of 2.1 (the first one 3.3 instead of 5.0), and the process has 1.05 GB instead of 1.4. Scripts that are run by hand are
// left out too, 8 MB. What else the process has is mostly V8's code for PostgreSQL and PostGIS (`node --liftoff-only`, slower in queries: 0.6 GB).

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Extension } from '@electric-sql/pglite';

const unused = /raster|topology|tiger|address_standardizer|unpackaged|\/contrib\//;

/** The same extension without the files that are not used. */
export function trimExtension(extension: Extension): Extension {
  return {
    name: extension.name,
    async setup(database, options) {
      const result = await extension.setup(database, options);
      if (!result.bundlePath) return result;
      const packed = await readFile(result.bundlePath);
      // In one piece, whose length gzip writes at the end: pieces of the usual 16 KB would be copied together.
      const trimmed = trimTar(await promisify(gunzip)(packed, { chunkSize: packed.readUInt32LE(packed.length - 4) }));
      const { bundlePath: _, ...rest } = result;
      const amended = rest.emscriptenOpts ?? options;
      return {
        ...rest,
        emscriptenOpts: {
          ...amended,
          // where PGlite's own loader looks for the bundles that bundlePath names; of a Blob it wants the bytes alone, and
          // a real one is filled and read by pieces of 64 KB
          preRun: [
            ...(amended.preRun ?? []),
            (wasm: { pg_extensions: Record<string, Promise<Blob>> }) => {
              wasm.pg_extensions[extension.name] = Promise.resolve({ arrayBuffer: async () => trimmed } as unknown as Blob);
            },
          ],
        },
      };
    },
  };
}

/** The same tar archive, made shorter in its own memory, without the members whose names match `unused`. */
function trimTar(archive: Buffer<ArrayBuffer>): ArrayBuffer {
  let kept = 0;
  for (let at = 0; at + 512 <= archive.length; ) {
    const name = readField(archive, at, 100);
    const size = Number.parseInt(readField(archive, at + 124, 12).trim() || '0', 8);
    const end = at + 512 + Math.ceil(size / 512) * 512;
    if (name === '' || !unused.test(name)) {
      archive.copyWithin(kept, at, end);
      kept += end - at;
    }
    at = end;
  }
  return archive.buffer.transfer(kept);
}

function readField(archive: Buffer, start: number, length: number): string {
  const bytes = archive.subarray(start, start + length);
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end === -1 ? length : end);
}
