// Cursors of the feed (O1.5): opaque, valid for ever, and of one installation, tenant and filter.
import { createCipheriv, createDecipheriv, createHash, createHmac, type KeyObject } from 'node:crypto';
import type { FeedPlace } from '../../db/abgleich.ts';
import { PortalError } from '../wire/portal-error.ts';

const sizes = { installation: 8, nonce: 12, tag: 16, place: 29 };
const length = sizes.installation + sizes.nonce + sizes.tag + sizes.place;

/**
 * Encrypted and not only signed: places are made of numbers of transactions, which would tell how much is written that nobody is
 * shown. The nonce is made from what is encrypted, so that the same place is always the same cursor, and tells nothing either.
 * @param installation names this installation, in the clear, so that a cursor of another one is told from a damaged one
 */
export function feedCursors(secretKey: KeyObject, installation: string) {
  const key = createHmac('sha256', secretKey).update('abgleich').digest();
  const head = createHash('sha256').update(installation).digest().subarray(0, sizes.installation);
  const context = (tenant: number, mandant: string | null) =>
    Buffer.from(JSON.stringify([tenant, mandant?.toLowerCase() ?? null]));
  return {
    make({ verlauf, stelle, teil, id, ab }: FeedPlace, tenant: number, mandant: string | null): string {
      const plain = Buffer.alloc(sizes.place);
      plain.writeUInt32BE(verlauf, 0);
      plain.writeBigInt64BE(BigInt(stelle), 4);
      plain.writeUInt8(teil, 12);
      plain.writeBigInt64BE(BigInt(id), 13);
      plain.writeBigInt64BE(BigInt(ab ?? -1), 21);
      const bound = context(tenant, mandant);
      const nonce = createHmac('sha256', key).update(bound).update(plain).digest().subarray(0, sizes.nonce);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound);
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([head, nonce, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    /**
     * The place that a cursor stands for.
     * @throws PortalError `neu_beginnen` for a cursor of another installation, `ungueltiger_parameter` for one that was altered, or
     *   made at another host or with another filter
     */
    read(cursor: string, tenant: number, mandant: string | null): FeedPlace {
      const bytes = Buffer.from(cursor, 'base64url');
      if (bytes.length !== length || bytes.toString('base64url') !== cursor) throw damaged();
      if (!bytes.subarray(0, sizes.installation).equals(head)) throw new PortalError('neu_beginnen');
      const nonce = bytes.subarray(sizes.installation, sizes.installation + sizes.nonce);
      const sealedAt = sizes.installation + sizes.nonce + sizes.tag;
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: sizes.tag })
        .setAAD(context(tenant, mandant))
        .setAuthTag(bytes.subarray(sizes.installation + sizes.nonce, sealedAt));
      let plain: Buffer;
      try {
        plain = Buffer.concat([decipher.update(bytes.subarray(sealedAt)), decipher.final()]);
      } catch {
        throw damaged();
      }
      const ab = Number(plain.readBigInt64BE(21));
      return {
        verlauf: plain.readUInt32BE(0),
        stelle: Number(plain.readBigInt64BE(4)),
        teil: plain.readUInt8(12),
        id: Number(plain.readBigInt64BE(13)),
        ab: ab < 0 ? null : ab,
      };
    },
  };
}

const damaged = () =>
  new PortalError('ungueltiger_parameter', {
    seit: 'seit gehört nicht zu dieser Anfrage; erlaubt ist der cursor einer Antwort, mit demselben mandant und unter demselben Host.',
  });
