// The search for the best quality below a size, on sizes as mozjpeg makes them, and on others.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeBelow } from '../../src/media/quality.ts';

const range = { lowest: 50, highest: 95, guess: 75 };

function search(sizeOf: (quality: number) => number, limit: number, trials: number, enough = limit) {
  const tried: number[] = [];
  const result = encodeBelow({
    ...range,
    limit,
    enough,
    trials,
    encode(quality) {
      tried.push(quality);
      return new Uint8Array(sizeOf(quality));
    },
  });
  return { result, tried };
}

describe('the search for a quality', () => {
  // Measured: 12 megapixels of noise and gradients at 2048 pixels; the steps at 80 and 90 are finer colour.
  const measured: [quality: number, size: number][] = [
    [50, 66_942],
    [60, 84_850],
    [70, 113_963],
    [75, 139_588],
    [79, 165_000],
    [80, 199_742],
    [85, 258_180],
    [89, 330_000],
    [90, 425_550],
    [91, 454_486],
    [92, 502_012],
    [93, 597_111],
    [95, 760_000],
  ];
  const sizeOf = (quality: number) => {
    const upper = measured.findIndex(([known]) => known >= quality);
    const [highQuality, high] = measured[upper] ?? [0, 0];
    const [lowQuality, low] = measured[Math.max(upper - 1, 0)] ?? [0, 0];
    return highQuality === lowQuality
      ? high
      : Math.round(low + ((high - low) * (quality - lowQuality)) / (highQuality - lowQuality));
  };

  for (const limit of [70_000, 100_000, 139_588, 139_589, 190_000, 220_000, 350_000, 430_000, 500_000, 900_000]) {
    it(`finds the best below ${limit} bytes in a photo's sizes`, () => {
      const { result, tried } = search(sizeOf, limit, 6);
      const best = Math.max(...Array.from({ length: 46 }, (_, index) => 50 + index).filter((q) => sizeOf(q) < limit));
      assert.ok(result.bytes && result.bytes.length < limit);
      assert.equal(result.quality, best, `tried ${tried.join(', ')}`);
    });
  }

  it('is content with the first that is large enough', () => {
    const { result, tried } = search(sizeOf, 145_000, 6, 139_000);
    assert.deepEqual([result.bytes?.length, tried], [139_588, [75]]);
    assert.deepEqual(search(sizeOf, 145_000, 6, 140_000).tried.length > 1, true);
  });

  it('says how large the smallest is when none is small enough', () => {
    assert.deepEqual(search(sizeOf, 50_000, 6).result, { bytes: null, least: 66_942 });
  });

  it('stays below the limit and within its trials, whatever the sizes', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 46, maxLength: 46 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 9 }), (anySizes, limit, trials) => {
        const { result, tried } = search((quality) => anySizes[quality - 50] ?? 0, limit, trials);
        assert.ok(tried.length <= trials && tried.every((quality) => quality >= 50 && quality <= 95));
        assert.equal(new Set(tried).size, tried.length);
        if (result.bytes) assert.ok(result.bytes.length < limit);
        else assert.ok(tried.every((quality) => (anySizes[quality - 50] ?? 0) >= limit));
      }),
    );
  });
});
