// What the library that makes photos may read.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import sharp from 'sharp';
import '../../src/media/photo.ts';

it('S3.7 of the decoders of libvips that of JPEG alone is open', async () => {
  const picture = () => sharp({ create: { width: 8, height: 8, channels: 3, background: 'white' } });
  assert.equal((await sharp(await picture().jpeg().toBuffer()).metadata()).format, 'jpeg');
  for (const format of ['png', 'webp', 'gif', 'tiff', 'avif'] as const) {
    const file = await picture().toFormat(format).toBuffer();
    await assert.rejects(sharp(file).metadata(), /unsupported image format/, format);
  }
  await assert.rejects(
    sharp(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>')).metadata(),
    /unsupported/,
  );
});
