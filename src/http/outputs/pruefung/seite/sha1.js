// SHA-1 of a text, in which form the interface takes passwords. Browsers have one of their own, but only on pages that came by https.

/** @param {number} value @param {number} by */
const rotate = (value, by) => (value << by) | (value >>> (32 - by));

/** @param {string} text @returns {string} 40 hex digits */
export function sha1(text) {
  const bytes = new TextEncoder().encode(text.normalize('NFC'));
  // A one, zeros up to whole blocks of 64 bytes, the length in bits.
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  for (const [at, byte] of bytes.entries()) padded.setUint8(at, byte);
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(padded.byteLength - 4, bytes.length * 8);
  const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
  const words = new Int32Array(80);
  for (let block = 0; block < padded.byteLength; block += 64) {
    for (let at = 0; at < 80; at++)
      words[at] =
        at < 16
          ? padded.getInt32(block + 4 * at)
          : rotate(wordAt(words, at - 3) ^ wordAt(words, at - 8) ^ wordAt(words, at - 14) ^ wordAt(words, at - 16), 1);
    let [a = 0, b = 0, c = 0, d = 0, e = 0] = state;
    for (let at = 0; at < 80; at++) {
      const [mixed, constant] =
        at < 20
          ? [(b & c) | (~b & d), 0x5a827999]
          : at < 40
            ? [b ^ c ^ d, 0x6ed9eba1]
            : at < 60
              ? [(b & c) | (b & d) | (c & d), 0x8f1bbcdc]
              : [b ^ c ^ d, 0xca62c1d6];
      const next = (rotate(a, 5) + mixed + e + constant + wordAt(words, at)) | 0;
      [a, b, c, d, e] = [next, a, rotate(b, 30), c, d];
    }
    for (const [at, value] of [a, b, c, d, e].entries()) state[at] = ((state[at] ?? 0) + value) | 0;
  }
  return state.map((value) => (value >>> 0).toString(16).padStart(8, '0')).join('');
}

/** @param {Int32Array} words @param {number} at */
const wordAt = (words, at) => words[at] ?? 0;
