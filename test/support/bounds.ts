// The table of bounds in docs/operations/bounds.md, made from the code that enforces them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { callBounds, regexpCallBounds, reservedConnections, statementMs } from '../../src/db/client.ts';
import { maxCrossings } from '../../src/guard/geometry.ts';
import { hashBounds } from '../../src/guard/password.ts';
import { maxRequestIdLength } from '../../src/guard/request.ts';
import { maxMarks } from '../../src/guard/text.ts';
import { maxHostLength, maxLoginnameBytes, maxTokenLength } from '../../src/http/context.ts';
import { maxWaiting, maxWaitSeconds } from '../../src/http/outputs/abgleich.ts';
import { maxRecords } from '../../src/http/outputs/atlas.ts';
import { maxFeatures, maxFeaturesOfPage, maxOffset } from '../../src/http/outputs/ogc/items.ts';
import { maxTileBytes } from '../../src/http/outputs/tiles.ts';
import { archiveRuns } from '../../src/http/routes/konto-daten.ts';
import { keepAliveMs, maxHeadBytes, maxRequests } from '../../src/http/server.ts';
import { limits, loginLimits } from '../../src/http/too-often.ts';
import { maxBodyBytes, maxFieldsBytes } from '../../src/http/wire/form.ts';
import { maxValueLength } from '../../src/http/wire/input.ts';
import { maxFields } from '../../src/http/wire/query.ts';
import { defaultLimits } from '../../src/jobs/boundary-source.ts';
import { maxKeptPixels, maxPixels, maxScannedPixels, maxScans } from '../../src/media/jpeg.ts';
import { maxFileBytes } from '../../src/media/medium.ts';
import { felder, listFeld } from '../../src/sichtbeobachtung-felder.ts';
import { root } from './child.ts';

const number = (value: number) => value.toLocaleString('en-US').replaceAll(',', ' ');
const size = (bytes: number) => (bytes < 1024 * 1024 ? `${number(bytes / 1024)} KiB` : `${number(bytes / 1024 / 1024)} MiB`);
const seconds = (ms: number) => `${ms / 1000} s`;
const often = ({ limit, windowSeconds }: { limit: number; windowSeconds: number }) =>
  `${number(limit)} in ${windowSeconds < 3600 ? `${windowSeconds / 60} min` : `${windowSeconds / 3600} h`}`;

const waits = ({ queue, waitMs }: { queue: number; waitMs: number }) => `${queue} wait, ${seconds(waitMs)} at most; then 503`;

/** What a migration or a function of the database says. */
function readSql(file: string, pattern: RegExp): number {
  const [, value] = pattern.exec(readFileSync(join(root, 'sql', file), 'utf8')) ?? [];
  if (value === undefined) throw new Error(`${pattern} is not in sql/${file}`);
  return Number(value);
}

/** Rows of the table: what comes from outside, how much of it, what happens beyond. */
export function listBounds(): [what: string, bound: string, beyond: string][] {
  const config = loadConfig({});
  const pageBytes = readSql('code/sichtbeobachtung/listen.sql', /v_max_bytes constant integer := (\d+);/);
  const featureBytes = readSql('code/ausgabe/ogc.sql', /get_max_bytes\(\)[^$]*\$\$\s*select (\d+)/);
  const shortBytes = readSql('migrations/0004_bounds.sql', /kurztext_laenge" CHECK \(octet_length\(value\) <= (\d+)\)/);
  const keys = readSql('code/konto/schluessel.sql', /o\.hash offset (\d+)\)\)/);
  return [
    ['connections', `${number(config.maxConnections)} (\`MAX_CONNECTIONS\`)`, 'closed'],
    ['connections of a network \\*', `${config.maxConnectionsPerNetwork} (\`MAX_CONNECTIONS_PER_NETWORK\`)`, '503'],
    [
      'new connections of a network \\*',
      `${config.connectionRate} a second, twice as many at first (\`CONNECTION_RATE\`)`,
      'closed',
    ],
    ['requests on one connection', number(maxRequests), 'closed after the answer'],
    ['head of a request', `${size(maxHeadBytes)} in ${config.headersTimeoutSeconds} s (\`HEADERS_TIMEOUT\`)`, '431, 408'],
    [
      '`Host`, `X-Forwarded-Host`',
      `${number(maxHostLength)} characters: letters, digits, \`.\`, \`-\`, \`_\`, or an address`,
      '400',
    ],
    ['whole request', `${config.requestTimeoutSeconds} s (\`REQUEST_TIMEOUT\`)`, '408'],
    [
      'a connection that asks for nothing',
      `${seconds(keepAliveMs.direct)}, with \`TRUST_PROXY\` ${seconds(keepAliveMs.proxied)}`,
      'closed',
    ],
    ['form without files', `${maxFields} fields, ${size(maxFieldsBytes)}`, '400, 413'],
    ['form with files', `${size(maxBodyBytes)}, its fields ${size(maxFieldsBytes)}`, '413'],
    ['value of any parameter or field', `${number(maxValueLength)} characters, ${maxMarks} combining marks in a row`, '400'],
    ['remark, expert’s remark', `${number(felder.bemerkung.maxLength)} characters; in the database too`, '400'],
    ...listFeld().flatMap(([name, feld]): [string, string, string][] =>
      feld.kind === 'text' && name !== 'bemerkung'
        ? [[`\`${name}\``, `${number(feld.maxLength)} characters; in the database too`, '400']]
        : [],
    ),
    ['text that a function of schema `api` takes', `${number(shortBytes)} bytes, a remark 16 000`, 'SQLSTATE 23514'],
    ['`X-Request-Id`', `${maxRequestIdLength} letters, digits and \`. _ -\``, 'another one is made'],
    ['`X-Auth-User`, `X-Auth-Token`', `${number(maxLoginnameBytes)} and ${maxTokenLength} bytes`, '401'],
    [
      'photo, sound file',
      `${size(maxFileBytes.photo)}, ${maxPixels / 1e6} megapixels (progressive ${maxKeptPixels / 1e6}) and ${maxScans} scans (of more than ${maxScannedPixels / maxScans / 1e6} megapixels fewer: ${maxScannedPixels / 1e6} in all scans); ${size(maxFileBytes.audio)}`,
      '413, 400',
    ],
    [
      'uploads at once',
      `${config.maxUploads} (\`MAX_UPLOADS\`), of a network a quarter, of an account ${config.maxUploadsPerAccount} (\`MAX_UPLOADS_PER_ACCOUNT\`)`,
      '503',
    ],
    [
      'requests that wait for something new in the feed',
      `${number(maxWaiting.all)}, of a network ${number(maxWaiting.network)}, ${maxWaitSeconds} s`,
      'answered at once',
    ],
    ['bytes of a tile of the map', number(maxTileBytes), 'records thin out'],
    ['records of an answer to the map', `${maxRecords}`, '400'],
    ['photos and sound files of an account', often(limits.files), '429'],
    [
      'reports and changes of an account',
      `${number(config.maxWritesPerAccount)} in a day (\`MAX_WRITES_PER_ACCOUNT\`), in each process`,
      '429',
    ],
    [
      'photos made small and sound files cleaned at once',
      '2 or 3, by cores (`PHOTO_WORKERS`); of a network or an account one fewer',
      'waits a minute, then 503',
    ],
    [
      'statements at once',
      `${reservedConnections} more than twice the cores (4 to 16, or \`DB_POOL\`); of a network or an account those without the ${reservedConnections}, of the embedded database one`,
      waits(callBounds(4)),
    ],
    ['statement', seconds(statementMs.usual), '503'],
    [
      'regular expressions',
      `128 characters (64 embedded); ${regexpCallBounds.slots} at once, of a network ${regexpCallBounds.share}; ${seconds(statementMs.regexp)}; ${often(limits.regexp)} of a network, a slow one counts as ten`,
      '400, 503, 429',
    ],
    ['page of a list', `1 000 records and ${size(pageBytes)}`, '`next`'],
    [
      'page of features of `/ogc`',
      `${number(maxFeatures)} features and ${size(featureBytes)}, of a page for people ${maxFeaturesOfPage}`,
      'link `next`',
    ],
    ['`offset` of `/ogc`', number(maxOffset), '400'],
    ['passwords hashed at once', `${hashBounds.slots}; of a network or an account ${hashBounds.share}`, waits(hashBounds)],
    [
      'wrong passwords',
      `${loginLimits.account} of an account from one network, ${loginLimits.strangers} from all from which it did not log in lately; ${loginLimits.network} of a network; in ${loginLimits.windowSeconds / 60} min`,
      '429',
    ],
    ['registrations of a network', often(limits.registration), '429'],
    ['links tried or asked for by a network', often(limits.link), '429'],
    [
      'archives of own data made at once',
      `${archiveRuns.slots}, of a network or an account ${archiveRuns.share}; one for each link, which lives a day`,
      waits(archiveRuns),
    ],
    ['mails to a mailbox', `${often(limits.mailbox)} that one network asks for, ${limits.mailboxOfAll.limit} of all`, 'not sent'],
    ['changes of one’s own address', often(limits.email), '429'],
    ['access keys of an account', number(keys), 'the oldest ends'],
    [
      'source of boundaries',
      `${size(defaultLimits.bytes)} in ${seconds(defaultLimits.totalMs)}; an invalid one with ${maxCrossings} crossing lines`,
      'the run fails',
    ],
  ];
}

export function formatBounds(): string {
  const lines = listBounds().map((row) => `| ${row.join(' | ')} |`);
  return ['| what | how much | beyond |', '| --- | --- | --- |', ...lines].join('\n');
}
