// Networks of clients: what limits and shares are counted by.
import { isIPv6 } from 'node:net';

/**
 * The network of an address: whoever has one IPv6 address has a whole /64 of them, an IPv4 address stands for itself.
 * @param address as a socket or a proxy writes it: with or without a port, brackets or zone, which are left out
 */
export function networkOf(address: string): string {
  const [withoutZone = ''] = withoutPort(address.slice(0, 100)).split('%', 1);
  const plain = withoutZone.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(plain)) return plain;
  const mapped = /^[0:]/.test(plain) ? toIPv4(plain) : null;
  if (mapped !== null) return mapped;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  if (tail !== undefined) while (groups.length + rest.length < 8) groups.push('0');
  return [...groups, ...rest]
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':');
}

function withoutPort(address: string): string {
  const [, inBrackets, host] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]+):\d+)$/.exec(address) ?? [];
  return inBrackets ?? host ?? address;
}

/** The IPv4 address that an IPv6 address holds, in whatever spelling; null for others. */
function toIPv4(address: string): string | null {
  const { hostname } = new URL(`http://[${address}]`);
  const groups = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname)?.slice(1) ?? null;
  return (
    groups
      ?.map((group) => Number.parseInt(group, 16))
      .flatMap((two) => [two >> 8, two & 255])
      .join('.') ?? null
  );
}

/**
 * D6.6: each proxy appends what it saw, so that those before the entry of the outermost one that is trusted are what the client
 * claims. Where there are fewer, the proxies replace instead of appending, and the first is the outermost's.
 * @param header a list of X-Forwarded-…; undefined when there is none
 * @returns the entry that counts; undefined when no proxy is trusted
 */
export function trustedEntry(header: string | undefined, trustedHops: number): string | undefined {
  if (trustedHops === 0) return undefined;
  const entries = header?.split(',') ?? [];
  return entries[Math.max(0, entries.length - trustedHops)]?.trim();
}
