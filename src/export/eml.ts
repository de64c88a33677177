// What an archive says of itself: EML 2.2.0 as GBIF's profile 1.3 has it. https://rs.gbif.org/schema/eml-gbif-profile/1.3/eml.xsd
import { create } from 'xmlbuilder2';
import type { XMLBuilder } from 'xmlbuilder2/lib/interfaces.js';
import type { ExportMandant } from '../db/export.ts';
import type { ExportUmfang } from '../db/export-rows.ts';
import { type Lizenz, licences } from './licences.ts';

/** The sentence around the licence's name, word for word: GBIF knows the licence by it. */
const rights: { [lizenz in Lizenz]?: [before: string, title: string, after: string] } = {
  'CC0-1.0': [
    'To the extent possible under law, the publisher has waived all rights to these data and has dedicated them to the ',
    'Public Domain (CC0 1.0)',
    '. Users may copy, modify, distribute and use the work, including for commercial purposes, without restriction.',
  ],
  'CC-BY-4.0': ['This work is licensed under a ', 'Creative Commons Attribution (CC-BY) 4.0 License', '.'],
  'CC-BY-NC-4.0': ['This work is licensed under a ', 'Creative Commons Attribution Non Commercial (CC-BY-NC) 4.0 License', '.'],
};

/** @param origin address of the tenant, whose dataset it is */
export function toEml(mandant: ExportMandant, { von, bis, geaendert, box }: ExportUmfang, origin: string): string {
  const { titel, herausgeber, kontakt, beschreibung, lizenz } = mandant;
  const packageId = `${origin}/export/v1/${mandant.mandant}/dwca.zip`;
  const root = create({ version: '1.0', encoding: 'UTF-8', invalidCharReplacement: '' }).ele(
    'https://eml.ecoinformatics.org/eml-2.2.0',
    'eml:eml',
    { packageId, system: 'http://gbif.org', scope: 'system', 'xml:lang': 'de' },
  );
  const dataset = root.ele('', 'dataset');
  const add = (parent: XMLBuilder, name: string, text: string) => parent.ele('', name).txt(escapeXml(text));
  const addAgent = (name: string) => {
    const agent = dataset.ele('', name);
    add(agent, 'organizationName', herausgeber);
    add(agent, 'electronicMailAddress', kontakt);
  };
  add(dataset, 'alternateIdentifier', packageId);
  dataset.ele('', 'title', { 'xml:lang': 'de' }).txt(escapeXml(titel));
  addAgent('creator');
  addAgent('metadataProvider');
  add(dataset, 'pubDate', geaendert);
  add(dataset, 'language', 'de');
  add(dataset.ele('', 'abstract'), 'para', beschreibung);
  const keywords = dataset.ele('', 'keywordSet');
  add(keywords, 'keyword', 'Occurrence');
  add(keywords, 'keywordThesaurus', 'GBIF Dataset Type Vocabulary: http://rs.gbif.org/vocabulary/gbif/dataset_type.xml');
  const [before, title, after] = rights[lizenz] ?? ['', licences[lizenz].title, ''];
  const para = dataset.ele('', 'intellectualRights').ele('', 'para').txt(before);
  para.ele('', 'ulink', { url: licences[lizenz].url }).ele('', 'citetitle').txt(title);
  para.txt(after);
  const distribution = dataset.ele('', 'distribution', { scope: 'document' }).ele('', 'online');
  distribution.ele('', 'url', { function: 'information' }).txt(`${origin}/export/v1/`);
  const coverage = dataset.ele('', 'coverage');
  const area = coverage.ele('', 'geographicCoverage');
  add(area, 'geographicDescription', mandant.name);
  const bounds = area.ele('', 'boundingCoordinates');
  const [west, south, east, north] = box;
  for (const [name, value] of Object.entries({ west, east, north, south }))
    add(bounds, `${name}BoundingCoordinate`, value.toFixed(4));
  if (von !== null && bis !== null) {
    const range = coverage.ele('', 'temporalCoverage').ele('', 'rangeOfDates');
    add(range.ele('', 'beginDate'), 'calendarDate', von);
    add(range.ele('', 'endDate'), 'calendarDate', bis);
  }
  const maintenance = dataset.ele('', 'maintenance');
  add(maintenance.ele('', 'description'), 'para', 'Die Dateien werden jede Nacht neu gemacht, wenn sich etwas geändert hat.');
  add(maintenance, 'maintenanceUpdateFrequency', 'daily');
  addAgent('contact');
  return root.end({ prettyPrint: false });
}

// The library leaves an ampersand alone that looks like the begin of an entity.
const escapeXml = (text: string) => text.replaceAll('&', '&amp;');
