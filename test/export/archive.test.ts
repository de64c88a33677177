// dwca.zip (O5.3, O5.4): what stands in it, as readers of Darwin Core Archives take it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Sql } from '../../src/db/client.ts';
import { arten } from '../support/catalogue.ts';
import { closeAtEnd, openTestDatabase } from '../support/database.ts';
import { cornersOf, origin, readArchive, readTabbed, setLizenz, writeFiles } from '../support/export.ts';
import { makeRecord } from '../support/records.ts';

let sql: Sql;
const released = { bereich: 'oeffentlich', status: 'freigegeben' };
// In a cell inside N, and in N in a cell that its border with S cuts, whose centre lies in S.
const ids = { open: 0, masked: 0, border: 0, marked: 0, photo: 0, lichen: 0 };
const photo = `${'a'.repeat(32)}.jpg`;
const places = { masked: { x: 420001, y: 5530001 }, border: { x: 450000.001, y: 5534999.999 } };

before(async () => {
  sql = (await openTestDatabase()).sql;
  for (const kuerzel of ['N', 'S']) await setLizenz(sql, kuerzel);
  ids.open = await makeRecord(sql, { ...released, bemerkung: 'er\tsagte "nein"\r\n\\N, ja' });
  ids.masked = await makeRecord(sql, { ...released, art: arten.uhu, ...places.masked, bemerkung: 'am Horst' });
  ids.border = await makeRecord(sql, { ...released, art: arten.uhu, ...places.border, bemerkung: 'am Horst' });
  ids.marked = await makeRecord(sql, { ...released, sensibel: true, bemerkung: 'am Horst' });
  ids.photo = await makeRecord(sql, released);
  ids.lichen = await makeRecord(sql, { ...released, art: arten.gelbflechte, x: 400000 });
  // Several at once are written in another way than one.
  await sql`update portal.sichtbeobachtung set anzahl = 2 where id in (${ids.border}, ${ids.lichen})`;
  for (const [id, foto] of [
    [ids.photo, photo],
    [ids.marked, `${'b'.repeat(32)}.jpg`],
  ] as const)
    await sql`update portal.sichtbeobachtung set foto = ${foto}, medien_lizenz = 'CC-BY-4.0' where id = ${id}`;
  // All rights reserved.
  await sql`update portal.sichtbeobachtung set foto = ${`${'c'.repeat(32)}.jpg`} where id = ${ids.open}`;
  await sql`update portal.sichtbeobachtung set stadium_id = 2, aktivitaet_id = 1, anzahl = 3 where id = ${ids.open}`;
});

const read = async (kuerzel = 'N') => readArchive((await writeFiles(sql, kuerzel, ['dwca.zip'])).bytesOf('dwca.zip'));
async function rowOf(id: number, kuerzel?: string): Promise<Record<string, string>> {
  const { occurrences } = await read(kuerzel);
  const row = occurrences.find(({ catalogNumber }) => catalogNumber === String(id));
  assert.ok(row, `${id} is in the archive`);
  return row;
}

/** A directory with the files of an archive, and the archive. */
async function extract(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'archive-'));
  closeAtEnd(async () => rmSync(directory, { recursive: true, force: true }));
  const bytes = (await writeFiles(sql, 'N', ['dwca.zip'])).bytesOf('dwca.zip');
  writeFileSync(join(directory, 'dwca.zip'), bytes);
  for (const [name, text] of (await readArchive(bytes)).texts) writeFileSync(join(directory, name), text);
  return directory;
}

/** Why a test can't be run here; false where it can. */
const lacks = (program: string) => (spawnSync(program, ['--version']).error ? `no ${program} here` : false);
function run(program: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  assert.equal(status, 0, `${program}: ${stdout}${stderr}`);
  return stdout;
}

describe('O5.3 occurrence.txt', () => {
  it('has a record at its true place, its uncertainty empty and never 0', async () => {
    const [guid] = await sql`select guid from portal.sichtbeobachtung where id = ${ids.open}`;
    const { decimalLatitude, decimalLongitude, eventDate, modified, ...row } = await rowOf(ids.open);
    assert.ok(Math.abs(Number(decimalLatitude) - 49.92) < 0.1 && Math.abs(Number(decimalLongitude) - 7.88) < 0.1);
    assert.match(eventDate ?? '', /^2001-\d\d-\d\d$/);
    const [today] = await sql`select (now() at time zone 'Europe/Berlin')::date::text as day`;
    assert.equal(modified, today?.day);
    assert.deepEqual(row, {
      occurrenceID: guid?.guid,
      catalogNumber: String(ids.open),
      basisOfRecord: 'HumanObservation',
      scientificName: 'Turdus merula',
      vernacularName: 'Amsel',
      kingdom: 'Animalia',
      taxonID: 'eu-2',
      individualCount: '3',
      lifeStage: 'Raupe',
      behavior: 'ruhend',
      geodeticDatum: 'EPSG:4326',
      coordinateUncertaintyInMeters: '',
      footprintWKT: '',
      footprintSRS: '',
      countryCode: 'DE',
      stateProvince: 'Nordland',
      dataGeneralizations: '',
      informationWithheld: '',
      license: 'http://creativecommons.org/licenses/by/4.0/legalcode',
      rightsHolder: 'Landesamt & Söhne',
      datasetName: 'Funde <im> Land',
      // Tabs and line ends are blanks; quotes mean nothing here.
      occurrenceRemarks: 'er sagte "nein"  \\N, ja',
      identificationVerificationStatus: 'verified',
    });
  });

  it('has the number of a species without one of the European register, and no kingdom of what is no animal', async () => {
    const { taxonID, kingdom } = await rowOf(ids.lichen);
    assert.deepEqual([taxonID, kingdom], [String(arten.gelbflechte), '']);
  });

  for (const name of ['masked', 'border'] as const) {
    it(`has a masked record ${name === 'masked' ? 'inside' : 'in a cell that the border cuts'} as the area that holds it`, async () => {
      const row = await rowOf(ids[name], name === 'border' ? 'S' : 'N');
      assert.deepEqual([row.countryCode, row.stateProvince], name === 'masked' ? ['DE', 'Nordland'] : ['', '']);
      assert.equal(row.occurrenceRemarks, '');
      assert.equal(row.footprintSRS, 'EPSG:4326');
      assert.match(row.dataGeneralizations ?? '', /5 km.* \/ .*5 km/);
      assert.match(row.informationWithheld ?? '', /arten@example\.org.* \/ .*arten@example\.org/);
      assert.match(row.coordinateUncertaintyInMeters ?? '', /^\d+$/);
      const [facts] = await sql`
        with f as (
          select st_geomfromtext(${row.footprintWKT ?? ''}::text, 4326) as area,
            st_setsrid(st_makepoint(${row.decimalLongitude ?? ''}::text::float8, ${row.decimalLatitude ?? ''}::text::float8), 4326) as point)
        select st_isvalid(f.area) as valid, st_covers(f.area, st_transform(s.point, 4326)) as holds_place,
          st_covers(f.area, st_transform(st_segmentize(st_expand(s.raster_point, 2500), 10), 4326)) as holds_cell,
          st_distance(f.point::geography, st_transform(s.raster_point, 4326)::geography) as off,
          (select max(st_distance(f.point::geography, d.geom::geography)) from st_dumppoints(f.area) d) as farthest
        from portal.sichtbeobachtung s, f where s.id = ${ids[name]}`;
      assert.deepEqual([facts?.valid, facts?.holds_place, facts?.holds_cell], [true, true, true]);
      assert.ok(facts?.off < 0.02, `the centre of the cell: ${facts?.off}`);
      const radius = Number(row.coordinateUncertaintyInMeters);
      assert.ok(radius >= facts?.farthest && radius < facts?.farthest + 1, `${radius} for ${facts?.farthest}`);
      const corners = cornersOf(row.footprintWKT ?? '');
      assert.deepEqual(corners.at(-1), corners[0]);
      assert.ok(corners.length > 5 && corners.every(([lon, lat]) => lon > 5 && lon < 15 && lat > 47 && lat < 55));
    });
  }

  it('O5.3 names nobody and no true place', async () => {
    const text = [...(await read()).texts.values()].join('\n');
    assert.doesNotMatch(text, /recordedBy|Muster|am Horst|420001|450000\.001/);
  });
});

describe('O5.4 multimedia.txt', () => {
  it('has the media with a licence of records at their true place', async () => {
    const { texts, occurrences } = await read();
    const [media, ...more] = readTabbed(texts.get('multimedia.txt') ?? '');
    assert.deepEqual(more, []);
    const { rightsHolder, ...row } = media ?? {};
    const [coreid, ...values] = Object.values(row);
    assert.equal(coreid, occurrences.find(({ catalogNumber }) => catalogNumber === String(ids.photo))?.occurrenceID);
    assert.deepEqual(values, [
      'StillImage',
      'image/jpeg',
      `${origin}/api/v2/medien/${photo}`,
      'http://creativecommons.org/licenses/by/4.0/legalcode',
    ]);
    const [account] = await sql`
      select u.anonymisiert, concat_ws(' ', u.vorname, u.nachname) as name
      from portal.nutzer u join portal.sichtbeobachtung s on s.nutzer_id = u.id where s.id = ${ids.photo}`;
    assert.equal(rightsHolder, account?.anonymisiert === 0 ? account?.name : '');
  });

  it('is not there, and not named, where nothing may be passed on', async () => {
    await setLizenz(sql, 'S');
    const { texts } = await readArchive((await writeFiles(sql, 'S', ['dwca.zip'])).bytesOf('dwca.zip'));
    assert.deepEqual([...texts.keys()].sort(), ['eml.xml', 'meta.xml', 'occurrence.txt']);
    assert.doesNotMatch(texts.get('meta.xml') ?? '', /extension/);
  });
});

// https://dwc.tdwg.org/list/, as far as these are used.
const darwinCore = new Set(
  `occurrenceID catalogNumber basisOfRecord eventDate scientificName vernacularName kingdom taxonID individualCount lifeStage behavior
  decimalLatitude decimalLongitude geodeticDatum coordinateUncertaintyInMeters footprintWKT footprintSRS countryCode stateProvince
  dataGeneralizations informationWithheld datasetName occurrenceRemarks identificationVerificationStatus`
    .split(/\s+/)
    .map((name) => `http://rs.tdwg.org/dwc/terms/${name}`)
    .concat(
      ['license', 'rightsHolder', 'modified', 'type', 'format', 'identifier'].map((name) => `http://purl.org/dc/terms/${name}`),
    ),
);

describe('O5 meta.xml', () => {
  it('names each column of each file by a term that there is, in the order of the file', async () => {
    const { texts } = await read();
    const meta = texts.get('meta.xml') ?? '';
    const tables = [...meta.matchAll(/<(core|extension)\b([^>]*)>([\s\S]*?)<\/\1>/g)];
    assert.deepEqual(
      tables.map(([, kind]) => kind),
      ['core', 'extension'],
    );
    for (const [, kind, head = '', body = ''] of tables) {
      for (const attribute of [
        'encoding="UTF-8"',
        'fieldsTerminatedBy="\\t"',
        'linesTerminatedBy="\\n"',
        'fieldsEnclosedBy=""',
        'ignoreHeaderLines="1"',
      ])
        assert.ok(head.includes(attribute), `${kind}: ${attribute}`);
      const [, location = ''] = /<location>(.*?)<\/location>/.exec(body) ?? [];
      const header = (texts.get(location) ?? '').split('\n')[0]?.split('\t') ?? [];
      const fields = [...body.matchAll(/<field index="(\d+)" term="([^"]+)"/g)];
      assert.equal(fields.length, kind === 'core' ? header.length : header.length - 1);
      for (const [, index, term = ''] of fields) {
        assert.ok(darwinCore.has(term), term);
        assert.equal(term.replace(/^.*\//, ''), header[Number(index)]);
      }
      assert.match(body, kind === 'core' ? /<id index="0"/ : /<coreid index="0"/);
    }
  });

  it('is as the schema of the standard has it', { skip: lacks('xmllint') }, async () => {
    const directory = await extract();
    writeFileSync(join(directory, 'meta.xsd'), metaSchema);
    run('xmllint', ['--noout', '--schema', 'meta.xsd', 'meta.xml'], directory);
  });
});

describe('O5 eml.xml', () => {
  const licences: [lizenz: string, words: string][] = [
    [
      'CC0-1.0',
      'To the extent possible under law, the publisher has waived all rights to these data and has dedicated them to the <ulink url="http://creativecommons.org/publicdomain/zero/1.0/legalcode"><citetitle>Public Domain (CC0 1.0)</citetitle></ulink>. Users may copy, modify, distribute and use the work, including for commercial purposes, without restriction.',
    ],
    [
      'CC-BY-4.0',
      'This work is licensed under a <ulink url="http://creativecommons.org/licenses/by/4.0/legalcode"><citetitle>Creative Commons Attribution (CC-BY) 4.0 License</citetitle></ulink>.',
    ],
    [
      'CC-BY-NC-4.0',
      'This work is licensed under a <ulink url="http://creativecommons.org/licenses/by-nc/4.0/legalcode"><citetitle>Creative Commons Attribution Non Commercial (CC-BY-NC) 4.0 License</citetitle></ulink>.',
    ],
  ];
  for (const [lizenz, words] of licences) {
    it(`says ${lizenz} as GBIF knows it`, async () => {
      await setLizenz(sql, 'N', lizenz);
      const eml = (await read()).texts.get('eml.xml') ?? '';
      for (const kuerzel of ['N', 'S']) await setLizenz(sql, kuerzel);
      assert.ok(eml.includes(`<intellectualRights><para>${words}</para></intellectualRights>`), eml);
    });
  }

  it('says what the dataset is, whose, where and of when', async () => {
    const { texts, occurrences } = await read();
    const eml = texts.get('eml.xml') ?? '';
    assert.match(eml, /xmlns:eml="https:\/\/eml\.ecoinformatics\.org\/eml-2\.2\.0"/);
    assert.match(eml, /<title[^>]*>Funde &lt;im&gt; Land<\/title>/);
    for (const role of ['creator', 'metadataProvider', 'contact'])
      assert.match(
        eml,
        new RegExp(
          `<${role}><organizationName>Landesamt &amp; Söhne</organizationName><electronicMailAddress>arten@example\\.org</electronicMailAddress></${role}>`,
        ),
      );
    const days = occurrences.map(({ eventDate }) => eventDate ?? '').sort();
    assert.ok(eml.includes(`<beginDate><calendarDate>${days[0]}</calendarDate></beginDate>`));
    assert.ok(eml.includes(`<endDate><calendarDate>${days.at(-1)}</calendarDate></endDate>`));
    assert.ok(
      eml.includes(
        `<pubDate>${occurrences
          .map(({ modified }) => modified ?? '')
          .sort()
          .at(-1)}</pubDate>`,
      ),
    );
    const side = (name: string) => Number(new RegExp(`<${name}BoundingCoordinate>([^<]+)<`).exec(eml)?.[1]);
    for (const { decimalLatitude, decimalLongitude, countryCode } of occurrences.filter((row) => row.countryCode !== '')) {
      assert.ok(countryCode && side('west') <= Number(decimalLongitude) && Number(decimalLongitude) <= side('east'));
      assert.ok(side('south') <= Number(decimalLatitude) && Number(decimalLatitude) <= side('north'));
    }
  });

  it('has the elements of the profile in their order', { skip: lacks('xmllint') }, async () => {
    const directory = await extract();
    writeFileSync(join(directory, 'eml.xsd'), emlSchema);
    writeFileSync(join(directory, 'dataset.xsd'), datasetSchema);
    run('xmllint', ['--noout', '--schema', 'eml.xsd', 'eml.xml'], directory);
  });
});

describe('O5 dwca.zip', () => {
  it('does not tell when it was made: its files have the first day that an archive can name', async () => {
    const bytes = (await writeFiles(sql, 'N', ['dwca.zip'])).bytesOf('dwca.zip');
    // Day and time in the head of the first one.
    assert.equal(bytes.readUInt32LE(10), 0x00210000);
  });

  it('is read by unzip', { skip: spawnSync('unzip', ['-v']).error ? 'no unzip here' : false }, async () => {
    assert.match(run('unzip', ['-t', 'dwca.zip'], await extract()), /No errors/);
  });

  it('is read by Python', { skip: lacks('python3') }, async () => {
    const code = "import zipfile; z = zipfile.ZipFile('dwca.zip'); assert z.testzip() is None; print(sorted(z.namelist()))";
    assert.equal(
      run('python3', ['-c', code], await extract()).trim(),
      "['eml.xml', 'meta.xml', 'multimedia.txt', 'occurrence.txt']",
    );
  });
});

// Written after the text of the standard: http://rs.tdwg.org/dwc/text/tdwg_dwc_text.xsd
const fileType = (key: string) => `
  <xs:sequence>
    <xs:element name="files"><xs:complexType><xs:sequence><xs:element name="location" type="xs:string" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
    <xs:element name="${key}" minOccurs="0"><xs:complexType><xs:attribute name="index" type="xs:nonNegativeInteger" use="required"/></xs:complexType></xs:element>
    <xs:element name="field" maxOccurs="unbounded"><xs:complexType>
      <xs:attribute name="index" type="xs:nonNegativeInteger"/><xs:attribute name="term" type="xs:anyURI" use="required"/>
      <xs:attribute name="default" type="xs:string"/><xs:attribute name="vocabulary" type="xs:anyURI"/>
    </xs:complexType></xs:element>
  </xs:sequence>
  <xs:attribute name="rowType" type="xs:anyURI" use="required"/>
  <xs:attribute name="fieldsTerminatedBy" type="xs:string"/><xs:attribute name="linesTerminatedBy" type="xs:string"/>
  <xs:attribute name="fieldsEnclosedBy" type="xs:string"/><xs:attribute name="encoding" type="xs:string"/>
  <xs:attribute name="ignoreHeaderLines" type="xs:integer"/><xs:attribute name="dateFormat" type="xs:string"/>`;
const metaSchema = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://rs.tdwg.org/dwc/text/" elementFormDefault="qualified">
  <xs:element name="archive"><xs:complexType><xs:sequence>
    <xs:element name="core"><xs:complexType>${fileType('id')}</xs:complexType></xs:element>
    <xs:element name="extension" minOccurs="0" maxOccurs="unbounded"><xs:complexType>${fileType('coreid')}</xs:complexType></xs:element>
  </xs:sequence><xs:attribute name="metadata" type="xs:string"/></xs:complexType></xs:element>
</xs:schema>`;

// The elements of GBIF's profile that are used here, in the order that it wants: https://rs.gbif.org/schema/eml-gbif-profile/1.3/eml.xsd
const element = (name: string, content: string, minOccurs = 1) =>
  `<xs:element name="${name}" minOccurs="${minOccurs}"><xs:complexType mixed="true"><xs:sequence>${content}</xs:sequence></xs:complexType></xs:element>`;
const text = (name: string, minOccurs = 1, type = 'xs:string') =>
  `<xs:element name="${name}" type="${type}" minOccurs="${minOccurs}"/>`;
const agent = (name: string) => element(name, text('organizationName') + text('electronicMailAddress'));
const day = (name: string) => element(name, text('calendarDate', 1, 'xs:date'));
const titled = (name: string, attributes: string) =>
  `<xs:element name="${name}"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">${attributes}</xs:extension></xs:simpleContent></xs:complexType></xs:element>`;
const datasetSchema = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:import namespace="http://www.w3.org/XML/1998/namespace"/>
  ${element(
    'dataset',
    [
      text('alternateIdentifier', 0),
      titled('title', '<xs:anyAttribute processContents="skip"/>'),
      agent('creator'),
      agent('metadataProvider'),
      text('pubDate', 1, 'xs:date'),
      text('language'),
      element('abstract', text('para')),
      element('keywordSet', text('keyword') + text('keywordThesaurus'), 0),
      element(
        'intellectualRights',
        element(
          'para',
          `<xs:element name="ulink"><xs:complexType><xs:sequence>${text('citetitle')}</xs:sequence><xs:attribute name="url" type="xs:anyURI" use="required"/></xs:complexType></xs:element>`,
        ),
      ),
      `<xs:element name="distribution" minOccurs="0"><xs:complexType><xs:sequence>${element('online', titled('url', '<xs:attribute name="function" type="xs:string"/>'))}</xs:sequence><xs:attribute name="scope" type="xs:string"/></xs:complexType></xs:element>`,
      element(
        'coverage',
        element(
          'geographicCoverage',
          text('geographicDescription') +
            element(
              'boundingCoordinates',
              ['west', 'east', 'north', 'south'].map((side) => text(`${side}BoundingCoordinate`, 1, 'xs:decimal')).join(''),
            ),
        ) + element('temporalCoverage', element('rangeOfDates', day('beginDate') + day('endDate')), 0),
      ),
      element('maintenance', element('description', text('para')) + text('maintenanceUpdateFrequency'), 0),
      agent('contact'),
    ].join(''),
  ).replace(' minOccurs="1"', '')}
</xs:schema>`;
const emlSchema = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://eml.ecoinformatics.org/eml-2.2.0">
  <xs:import schemaLocation="dataset.xsd"/>
  <xs:element name="eml"><xs:complexType><xs:sequence><xs:element ref="dataset"/></xs:sequence>
    <xs:attribute name="packageId" type="xs:string" use="required"/><xs:attribute name="system" type="xs:string" use="required"/>
    <xs:attribute name="scope" type="xs:string"/><xs:anyAttribute namespace="http://www.w3.org/XML/1998/namespace" processContents="skip"/>
  </xs:complexType></xs:element>
</xs:schema>`;
