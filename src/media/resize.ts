// Makes pictures smaller, with the resize crate in WebAssembly (@jsquash/resize): jimp takes three times as long for it, and more than
// decoding does.
//
// Called without the package's own glue, which keeps one instance for ever: a memory of WebAssembly never shrinks.

import { readFile } from 'node:fs/promises';
import type { InitOutput } from '@jsquash/resize/lib/resize/pkg/squoosh_resize.js';

/** What of it is used; TypeScript has its types only with those of a browser. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>;
  Instance: new (module: object, imports: object) => { exports: unknown };
};

export interface Picture {
  /** red, green, blue, alpha */
  data: Uint8ClampedArray<ArrayBuffer>;
  width: number;
  height: number;
}

export type Resize = (picture: Picture, width: number, height: number) => Picture;

/** Of the crate's filters: no blocks and hardly a ring, at three quarters of the time of lanczos3. */
const catmullRom = 1;
/** wasm-bindgen's place for where a result begins and how long it is. */
const resultBytes = 16;
/** An instance is kept for the next picture up to here, as 12 megapixels need: to be given new memory takes longer than the work itself. */
const keptBytes = 256 * 1024 * 1024;

export async function loadResize(): Promise<Resize> {
  const file = new URL(import.meta.resolve('@jsquash/resize/lib/resize/pkg/squoosh_resize_bg.wasm'));
  const module = await WebAssembly.compile(await readFile(file));
  let kept: InitOutput | null = null;
  return ({ data, width: fromWidth, height: fromHeight }, width, height) => {
    const crate = kept ?? (new WebAssembly.Instance(module, {}).exports as InitOutput);
    // What fails has not given back what it took.
    kept = null;
    const result = crate.__wbindgen_add_to_stack_pointer(-resultBytes);
    // An address beyond 2 GiB comes as a negative number.
    const input = crate.__wbindgen_malloc(data.length, 1) >>> 0;
    new Uint8Array(crate.memory.buffer).set(data, input);
    // The last two: nothing is transparent, and light is not made linear, as browsers and cameras don't either.
    crate.resize(result, input, data.length, fromWidth, fromHeight, width, height, catmullRom, 0, 0);
    const [begin = 0, length = 0] = new Uint32Array(crate.memory.buffer, result, 2);
    const small = new Uint8ClampedArray(crate.memory.buffer.slice(begin, begin + length));
    crate.__wbindgen_free(begin, length, 1);
    crate.__wbindgen_add_to_stack_pointer(resultBytes);
    if (crate.memory.buffer.byteLength <= keptBytes) kept = crate;
    return { data: small, width, height };
  };
}
