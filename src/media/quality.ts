// Finds the best quality whose file stays below a size, with few trials: each costs a tenth of a second and more.

export interface QualitySearch {
  /** Encodes with this quality, a whole number. */
  encode: (quality: number) => Promise<Uint8Array<ArrayBuffer>>;
  /** bytes that the result must stay below */
  limit: number;
  /** bytes of a result that is as good as any better one */
  enough: number;
  lowest: number;
  highest: number;
  /** the quality of the first trial */
  guess: number;
  trials: number;
}

/** The best encoding that was found, or the size of the smallest when all were too large. */
export type QualityResult = { bytes: Uint8Array<ArrayBuffer>; quality: number } | { bytes: null; least: number };

/**
 * Encodes with the best quality that stays below a size, or one that is good enough. A file's size goes about with the inverse of
 * mozjpeg's step width, so each trial tells where the next one should be; the bracket of what is known keeps the search from going astray.
 */
export async function encodeBelow(search: QualitySearch): Promise<QualityResult> {
  const { encode, limit, enough, lowest, highest, guess, trials } = search;
  let best: { bytes: Uint8Array<ArrayBuffer>; quality: number } | null = null;
  let least = Number.POSITIVE_INFINITY;
  let [fits, tooLarge] = [lowest - 1, highest + 1];
  let quality = guess;
  for (let trial = 0; trial < trials && fits + 1 < tooLarge; trial++) {
    const bytes = await encode(quality);
    if (bytes.length < limit) {
      best = { bytes, quality };
      fits = quality;
      if (bytes.length >= enough || growToNext(bytes.length, quality) >= limit) break;
    } else {
      least = Math.min(least, bytes.length);
      tooLarge = quality;
    }
    const next = toQuality((toStep(quality) * bytes.length) / limit);
    quality = Math.min(Math.max(next, fits + 1), tooLarge - 1);
  }
  return best ?? { bytes: null, least };
}

/** A careful guess at the size with the next quality: sizes grow at least with the root of the inverse step width. */
function growToNext(size: number, quality: number): number {
  return size * Math.sqrt(toStep(quality) / toStep(quality + 1));
}

/** libjpeg's factor on the step widths of its tables, in percent. */
function toStep(quality: number): number {
  return quality < 50 ? 5000 / quality : Math.max(200 - 2 * quality, 1);
}

function toQuality(step: number): number {
  return Math.floor(step > 100 ? 5000 / step : (200 - step) / 2);
}
