// What a tenant publishes as an ISO 19139 record, with what INSPIRE asks of it (O5.7).
import type { XmlTree } from '../../wire/xml.ts';
import type { Dataset } from './catalogue.ts';

const codelists = 'http://standards.iso.org/iso/19139/resources/gmxCodelists.xml';

const text = (value: string): XmlTree => ({ 'gco:CharacterString': value });
const link = (href: string, value: string): XmlTree => ({ 'gmx:Anchor': { '@xlink:href': href, '#': value } });
const code = (name: string, value: string): XmlTree => ({
  [`gmd:${name}`]: { '@codeList': `${codelists}#${name}`, '@codeListValue': value, '#': value },
});
const language: XmlTree = {
  'gmd:LanguageCode': { '@codeList': 'http://www.loc.gov/standards/iso639-2/', '@codeListValue': 'ger', '#': 'ger' },
};
const day = (date: Date): XmlTree => ({ 'gco:Date': date.toISOString().slice(0, 10) });
const dateOf = (date: XmlTree, kind: string): XmlTree => ({
  'gmd:CI_Date': { 'gmd:date': date, 'gmd:dateType': code('CI_DateTypeCode', kind) },
});

/** The document; elements in the order of the schema. */
export function describeIso(dataset: Dataset): { [name: string]: XmlTree } {
  const { kennung, herausgeber, kontakt, titel, beschreibung, licence, zitat, url, name, dateien, box } = dataset;
  const stand = dataset.stand ?? dataset.beendet ?? new Date(0);
  const contact = (role: string): XmlTree => ({
    'gmd:CI_ResponsibleParty': {
      'gmd:organisationName': text(herausgeber),
      'gmd:contactInfo': {
        'gmd:CI_Contact': { 'gmd:address': { 'gmd:CI_Address': { 'gmd:electronicMailAddress': text(kontakt) } } },
      },
      'gmd:role': code('CI_RoleCode', role),
    },
  });
  return {
    'gmd:MD_Metadata': {
      '@xmlns:gmd': 'http://www.isotc211.org/2005/gmd',
      '@xmlns:gco': 'http://www.isotc211.org/2005/gco',
      '@xmlns:gmx': 'http://www.isotc211.org/2005/gmx',
      '@xmlns:xlink': 'http://www.w3.org/1999/xlink',
      'gmd:fileIdentifier': text(kennung),
      'gmd:language': language,
      'gmd:characterSet': code('MD_CharacterSetCode', 'utf8'),
      'gmd:hierarchyLevel': code('MD_ScopeCode', 'dataset'),
      'gmd:contact': contact('pointOfContact'),
      'gmd:dateStamp': day(stand),
      'gmd:metadataStandardName': text('ISO 19115'),
      'gmd:metadataStandardVersion': text('2003/Cor.1:2006'),
      'gmd:referenceSystemInfo': {
        'gmd:MD_ReferenceSystem': {
          'gmd:referenceSystemIdentifier': {
            'gmd:RS_Identifier': { 'gmd:code': link('http://www.opengis.net/def/crs/EPSG/0/25832', 'EPSG:25832') },
          },
        },
      },
      'gmd:identificationInfo': {
        'gmd:MD_DataIdentification': {
          'gmd:citation': {
            'gmd:CI_Citation': {
              'gmd:title': text(titel),
              'gmd:date': dateOf(day(stand), 'revision'),
              'gmd:identifier': { 'gmd:MD_Identifier': { 'gmd:code': text(url) } },
            },
          },
          'gmd:abstract': text(beschreibung),
          'gmd:pointOfContact': contact('publisher'),
          'gmd:resourceMaintenance': {
            'gmd:MD_MaintenanceInformation': {
              'gmd:maintenanceAndUpdateFrequency': code('MD_MaintenanceFrequencyCode', 'daily'),
            },
          },
          'gmd:descriptiveKeywords': {
            'gmd:MD_Keywords': {
              'gmd:keyword': link('http://inspire.ec.europa.eu/theme/sd', 'Verteilung der Arten'),
              'gmd:thesaurusName': {
                'gmd:CI_Citation': {
                  'gmd:title': text('GEMET - INSPIRE themes, version 1.0'),
                  'gmd:date': dateOf({ 'gco:Date': '2008-06-01' }, 'publication'),
                },
              },
            },
          },
          'gmd:resourceConstraints': [
            {
              'gmd:MD_LegalConstraints': {
                'gmd:useConstraints': code('MD_RestrictionCode', 'otherRestrictions'),
                'gmd:otherConstraints': [link(licence.url, licence.title), text(zitat)],
              },
            },
            {
              'gmd:MD_LegalConstraints': {
                'gmd:accessConstraints': code('MD_RestrictionCode', 'otherRestrictions'),
                'gmd:otherConstraints': link(
                  'http://inspire.ec.europa.eu/metadata-codelist/LimitationsOnPublicAccess/noLimitations',
                  'Es gelten keine Zugriffsbeschränkungen',
                ),
              },
            },
          ],
          'gmd:spatialRepresentationType': code('MD_SpatialRepresentationTypeCode', 'vector'),
          'gmd:language': language,
          'gmd:characterSet': code('MD_CharacterSetCode', 'utf8'),
          'gmd:topicCategory': { 'gmd:MD_TopicCategoryCode': 'biota' },
          'gmd:extent': { 'gmd:EX_Extent': { 'gmd:description': text(name), ...(box && describeBox(box)) } },
        },
      },
      'gmd:distributionInfo': {
        'gmd:MD_Distribution': {
          'gmd:distributionFormat': [...new Set(dateien.map(({ type }) => type))].map((type) => ({
            'gmd:MD_Format': { 'gmd:name': text(type), 'gmd:version': { '@gco:nilReason': 'unknown' } },
          })),
          'gmd:transferOptions': {
            'gmd:MD_DigitalTransferOptions': {
              'gmd:onLine': dateien.map((file) => ({
                'gmd:CI_OnlineResource': {
                  'gmd:linkage': { 'gmd:URL': file.url },
                  'gmd:name': text(file.datei),
                  'gmd:function': code('CI_OnLineFunctionCode', 'download'),
                },
              })),
            },
          },
        },
      },
      'gmd:dataQualityInfo': {
        'gmd:DQ_DataQuality': {
          'gmd:scope': { 'gmd:DQ_Scope': { 'gmd:level': code('MD_ScopeCode', 'dataset') } },
          'gmd:report': {
            'gmd:DQ_DomainConsistency': {
              'gmd:result': {
                'gmd:DQ_ConformanceResult': {
                  'gmd:specification': {
                    'gmd:CI_Citation': {
                      'gmd:title': link('http://data.europa.eu/eli/reg/2010/1089', 'Verordnung (EU) Nr. 1089/2010'),
                      'gmd:date': dateOf({ 'gco:Date': '2010-12-08' }, 'publication'),
                    },
                  },
                  'gmd:explanation': text('Nicht geprüft'),
                  'gmd:pass': { '@gco:nilReason': 'unknown' },
                },
              },
            },
          },
          'gmd:lineage': {
            'gmd:LI_Lineage': {
              'gmd:statement': text(
                'Meldungen von Beobachterinnen und Beobachtern, von Fachleuten geprüft und freigegeben. Geschützte Funde sind nur als Rasterzelle von 5 km enthalten.',
              ),
            },
          },
        },
      },
    },
  };
}

function describeBox([west = 0, south = 0, east = 0, north = 0]: readonly number[]): { [name: string]: XmlTree } {
  const degrees = (value: number): XmlTree => ({ 'gco:Decimal': value.toFixed(4) });
  return {
    'gmd:geographicElement': {
      'gmd:EX_GeographicBoundingBox': {
        'gmd:westBoundLongitude': degrees(west),
        'gmd:eastBoundLongitude': degrees(east),
        'gmd:southBoundLatitude': degrees(south),
        'gmd:northBoundLatitude': degrees(north),
      },
    },
  };
}
