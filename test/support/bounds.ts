// The table of bounds in docs/operations/bounds.md, made from the code that enforces them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config.ts';
import {
  callBounds,
  embeddedCallBounds,
  regexpCallBounds,
  reservedConnections,
  slowCallBounds,
  statementMs,
} from '../../src/db/client.ts';
import { felder, listFeld } from '../../src/felder.ts';
import { turnMs } from '../../src/guard/computed.ts';
import { giveWay, spareFiles } from '../../src/guard/files.ts';
import { maxCrossings } from '../../src/guard/knots.ts';
import { graceMs as receiveGraceMs } from '../../src/guard/pace.ts';
import { turnBounds } from '../../src/guard/password.ts';
import { maxRequestIdLength } from '../../src/guard/request.ts';
import { embeddedRest, longestRest, partRest, restFactor, spareWork } from '../../src/guard/rest.ts';
import { maxMarks } from '../../src/guard/text.ts';
import { brokenTokens, chunkCost, freeChunks, minChunkBytes, minPacketBytes } from '../../src/http/bodies.ts';
import { maxHostLength, maxLoginnameBytes, maxTokenLength } from '../../src/http/context.ts';
import { limits, loginLimits } from '../../src/http/limits.ts';
import { maxWaiting, maxWaitSeconds } from '../../src/http/outputs/abgleich.ts';
import { maxRecords } from '../../src/http/outputs/atlas.ts';
import { maxFeatures, maxFeaturesOfPage, maxOffset } from '../../src/http/outputs/ogc/items.ts';
import { outputRuns } from '../../src/http/outputs/runs.ts';
import { maxTileBytes } from '../../src/http/outputs/tiles.ts';
import { readRate } from '../../src/http/reading.ts';
import { archiveRuns } from '../../src/http/routes/konto-daten.ts';
import { idleBody, maxUnreadBytes } from '../../src/http/scope.ts';
import {
  floodTokens,
  graceOfIdleMs,
  headTokens,
  keepAliveMs,
  maxPipelined,
  graceMs as sendGraceMs,
} from '../../src/http/server.ts';
import { maxHeadBytes, maxHeaders } from '../../src/http/unreadable.ts';
import { maxBodyBytes, maxFieldsBytes } from '../../src/http/wire/form.ts';
import { maxValueLength } from '../../src/http/wire/input.ts';
import { maxHeaderBytes, maxHeadersBytes } from '../../src/http/wire/multipart.ts';
import { maxFields } from '../../src/http/wire/query.ts';
import { longLists, longPages, shortPages } from '../../src/http/wire/reply.ts';
import { defaultLimits } from '../../src/jobs/boundary-source.ts';
import { maxPixels, maxScannedPixels, maxScans } from '../../src/media/jpeg.ts';
import { maxFileBytes } from '../../src/media/medium.ts';
import { placesOfNetwork } from '../../src/media/uploads.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const number = (value: number) => value.toLocaleString('en-US').replaceAll(',', ' ');
const size = (bytes: number) => (bytes < 1024 * 1024 ? `${number(bytes / 1024)} KiB` : `${number(bytes / 1024 / 1024)} MiB`);
const seconds = (ms: number) => `${ms / 1000} s`;
const often = ({ limit, windowSeconds }: { limit: number; windowSeconds: number }) =>
  `${number(limit)} in ${windowSeconds < 3600 ? `${windowSeconds / 60} min` : `${windowSeconds / 3600} h`}`;

/** What a migration or a function of the database says. */
function readSql(file: string, pattern: RegExp): number {
  const [, value] = pattern.exec(readFileSync(join(root, 'sql', file), 'utf8')) ?? [];
  if (value === undefined) throw new Error(`${pattern} is not in sql/${file}`);
  return Number(value);
}

/** Rows of the table: what comes from outside, how much of it, what happens beyond. */
export function listBounds(): [what: string, bound: string, beyond: string][] {
  const config = loadConfig({});
  const pageBytes = readSql('code/65_sichtbeobachtung_list.sql', /v_max_bytes constant integer := (\d+);/);
  const featureBytes = readSql('code/93_ausgabe_ogc.sql', /get_max_bytes\(\)[^$]*\$\$\s*select (\d+)/);
  const shortBytes = readSql('migrations/0004_bounds.sql', /kurztext_laenge" CHECK \(octet_length\(value\) <= (\d+)\)/);
  const keys = readSql('code/80_nutzer.sql', /o\.hash offset (\d+)\)\)/);
  return [
    ['connections', `${number(config.maxConnections)} (\`MAX_CONNECTIONS\`)`, 'closed'],
    ['connections of a network \\*', `${config.maxConnectionsPerNetwork} (\`MAX_CONNECTIONS_PER_NETWORK\`)`, '503'],
    [
      'new connections of a network \\*',
      `${config.connectionRate} a second, twice as many at first (\`CONNECTION_RATE\`)`,
      'closed',
    ],
    [
      'what a network sends \\*',
      `${size(readRate)} a second, twice as much at first; a chunk of a body counts ${number(chunkCost)} bytes more`,
      'read when it is due',
    ],
    [
      'requests of a connection that are not answered yet',
      `${maxPipelined}`,
      `503; beyond twice as many closed, at the cost of ${floodTokens} new connections of its network \\*`,
    ],
    [
      'head of a request, and what stands behind its chunks',
      `${size(maxHeadBytes)} and ${maxHeaders} fields in ${config.headersTimeoutSeconds} s (\`HEADERS_TIMEOUT\`)`,
      `431, at the cost of ${headTokens}; 408`,
    ],
    [
      '`Host`, `X-Forwarded-Host`',
      `${number(maxHostLength)} characters: letters, digits, \`.\`, \`-\`, \`_\`, or an address`,
      '400',
    ],
    [
      'whole request',
      `${config.requestTimeoutSeconds} s (\`REQUEST_TIMEOUT\`), ${number(config.minReceiveRate)} bytes a second after ${seconds(receiveGraceMs)} (\`MIN_RECEIVE_RATE\`)`,
      '408',
    ],
    [
      'reading an answer',
      `${number(config.minSendRate)} bytes a second after ${seconds(sendGraceMs)} (\`MIN_SEND_RATE\`)`,
      'closed',
    ],
    [
      'a connection that asks for nothing, whatever it sends',
      `${seconds(keepAliveMs + config.headersTimeoutSeconds * 1000 + graceOfIdleMs)}; when it sends nothing ${seconds(keepAliveMs)}`,
      'closed',
    ],
    ['answers to a network that it has not read', size(maxUnreadBytes), '503'],
    ['form without files', `${maxFields} fields, ${size(maxFieldsBytes)}`, '400, 413'],
    ['form with files', `${size(maxBodyBytes)}, its fields ${size(maxFieldsBytes)}`, '413'],
    [
      'body that is waited for although its request is answered already',
      `${size(idleBody.bytes)}, ${seconds(idleBody.ms)}`,
      'closed as long after the answer',
    ],
    [
      'chunks or packets of the bodies that a connection has under way',
      `${number(freeChunks)}, more when they bring ${minChunkBytes} bytes each, packets ${minPacketBytes}`,
      'closed, at the same cost',
    ],
    [
      'body whose sender leaves before its end and an answer',
      'any',
      `at the cost of ${brokenTokens} new connections of its network \\*`,
    ],
    ['head of a form part', `${size(maxHeaderBytes)}, of all together ${size(maxHeadersBytes)}`, '400'],
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
      `${size(maxFileBytes.photo)}, ${maxPixels / 1e6} megapixels and ${maxScans} scans (of more than ${maxScannedPixels / maxScans / 1e6} megapixels fewer: ${maxScannedPixels / 1e6} in all scans); ${size(maxFileBytes.audio)}`,
      '413, 400',
    ],
    [
      'uploads at once',
      `${config.maxUploads} (\`MAX_UPLOADS\`), of a network ${placesOfNetwork(config.maxUploads)}, of an account ${config.maxUploadsPerAccount} (\`MAX_UPLOADS_PER_ACCOUNT\`)`,
      '503',
    ],
    [
      'requests that wait for something new in the feed',
      `${number(maxWaiting.all)}, of a network ${number(maxWaiting.network)}, ${maxWaitSeconds} s`,
      'answered at once',
    ],
    ['bytes of a tile of the map', number(maxTileBytes), 'records thin out'],
    [
      'tiles and pages of features made at once',
      `${outputRuns.slots}, of a network ${outputRuns.share}, others wait by turns of networks`,
      `${seconds(outputRuns.waitMs)}, then 503`,
    ],
    ['records of an answer to the map', `${maxRecords}`, '400'],
    ['photos and sound files of an account', often(limits.files), '429'],
    [
      'reports and changes of an account',
      `${number(config.maxWritesPerAccount)} in a day (\`MAX_WRITES_PER_ACCOUNT\`), in each process`,
      '429',
    ],
    [
      'photos made small and sound files cleaned at once',
      `2 to 4, by cores (\`PHOTO_WORKERS\`); of a network one fewer. Where all cores have some, whoever had ${seconds(giveWay.fromMs)} of them made lately (${spareFiles.perSecondMs} ms come back a second) and more than ${giveWay.times} times what somebody else had begins one in ${seconds(giveWay.oneInSeconds * 1000)} beside that one, and pauses for ${seconds(giveWay.heldMs)} of a request`,
      'those of a request wait a minute, then 503',
    ],
    [
      'computing for requests at a stretch',
      `${turnMs} ms; beyond the same work as of statements, nothing new is begun for a network, nor done for an account once it is known, for ${restFactor} times as long as was computed for it, while photos are made small`,
      'by turns of networks',
    ],
    [
      'statements at once',
      `${reservedConnections} more than twice the cores (4 to 16, or \`DB_POOL\`); of a network or an account those without the ${reservedConnections}, half of them while a photo of its own is made small; beyond ${seconds(spareWork.atOnceMs)} of work, beside such a photo at once (${spareWork.perSecondMs} ms come back a second), each counts for ${restFactor} times as long again while photos are made small, but no more than ${longestRest.factor} times and ${seconds(longestRest.plusMs)}; not for photos of a network or an account that had more than ${seconds(spareFiles.atOnceMs)} of them made (${spareFiles.perSecondMs} ms come back a second)`,
      `by turns of networks, ${seconds(callBounds.waitMs)}, then 503`,
    ],
    [
      'statements of the embedded database',
      `as above, but ${embeddedCallBounds.share} at once of a network or an account; beyond ${seconds(spareWork.atOnceMs)} of work, one of ${embeddedRest.fromMs} ms and more counts for as long again without photos too; none for more than ${seconds(embeddedRest.atMostMs)}`,
      `by turns of networks, ${seconds(embeddedCallBounds.waitMs)}, then 503`,
    ],
    ['statement', seconds(statementMs.usual), '503'],
    [
      'lists by filters that take long',
      `${slowCallBounds.slots} at once, of a network ${slowCallBounds.share}`,
      `${seconds(slowCallBounds.waitMs)}, then 503`,
    ],
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
    [
      `lists and pages of the feed with a \`limit\` beyond ${longLists.records}`,
      `2 to 8 made at once, by cores; of a network or an account ${longLists.share}, others wait by turns of networks`,
      `${seconds(longLists.waitMs)}, then 503`,
    ],
    [
      'pages that are made of parsed rows',
      `${longPages.slots} long and ${shortPages.slots} short ones at once, of a network ${longPages.share} and ${shortPages.share}, others wait by turns of networks`,
      `${seconds(longPages.waitMs)}, then 503`,
    ],
    [
      'passwords hashed at once',
      `3 or 4, by cores; of a network one fewer, half of those while a photo of its own is made small, and beyond the same ${seconds(spareWork.atOnceMs)} of work each as long as a statement counts while photos are made small; never all that are next for one account`,
      `by turns of networks, ${seconds(turnBounds.waitMs)}, then 503`,
    ],
    [
      'wrong passwords',
      `${loginLimits.account} of an account from one network, ${loginLimits.strangers} from all from which it did not log in lately; ${loginLimits.network} of a network; in ${loginLimits.windowSeconds / 60} min`,
      '429',
    ],
    ['registrations of a network', often(limits.registration), '429'],
    ['links tried or asked for by a network', often(limits.link), '429'],
    [
      'archives of own data made at once',
      `${archiveRuns.slots}, of a network ${archiveRuns.share}; one for each link, which lives a day; beyond ${seconds(partRest.spareMs)} of work on them (${partRest.perSecondMs} ms come back a second), each part is followed by a rest ${restFactor} times as long, of ${seconds(partRest.atMostMs)} at most, while photos are made small`,
      `${seconds(archiveRuns.waitMs)}, then 503`,
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
