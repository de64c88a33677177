// What the interface takes as a regular expression of PostgreSQL's.
import * as v from 'valibot';
import { foldBlanks } from '../../guard/text.ts';

/**
 * D1.10: a regular expression of PostgreSQL. No directives and no back-references; those that can't be cut off (embedded database) stay
 * short, and have no repetition inside a repetition (D6.9).
 */
export const regexp = (canBeCutOff: boolean) => {
  const length = canBeCutOff ? 128 : 64;
  const more = canBeCutOff ? '' : `, {…}, Wiederholungen von Klammern und mehr als ${maxPlaces} von ^ $ \\m \\y …`;
  const allowed = `ein regulärer Ausdruck mit höchstens ${length} Zeichen ohne (?…), ***, Rückverweise${more}`;
  return v.pipe(
    v.string(),
    v.transform(foldBlanks),
    v.minLength(1, allowed),
    v.metadata({ maxLength: length, examples: ['^amsel'] }),
    v.check((value) => [...value].length <= length, allowed),
    v.check(
      (value) => findForeign(value) === undefined,
      ({ input }) =>
        `${allowed}, und ohne ${findForeign(input)}: das hieße in PostgreSQL etwas anderes als in Perl und JavaScript`,
    ),
    v.check((value) => {
      const plain = makePlain(value);
      if (value.startsWith('***') || /\(\?|\\[1-9]/.test(plain)) return false;
      return canBeCutOff || (!/\{|\)[*+?]/.test(plain) && countPlaces(value) <= maxPlaces);
    }, allowed),
    v.transform(toPostgres),
  );
};

/** `\cX` is one character, also where X is a bracket. */
const escapes = /\\(?:c.|x[\da-fA-F]+|[^1-9])/gsu;

/** Edges of words, and what lies between them: a backspace and a backslash to PostgreSQL. */
const ofWords: Record<string, string> = { '\\b': '\\y', '\\B': '\\Y' };

function toPostgres(expression: string): string {
  const plain = makePlain(expression);
  return expression.replace(escapes, (each, at) => (plain[at] === '[' ? each : (ofWords[each] ?? each)));
}

/** What would be read as something that nobody meant, and so quietly match nothing. */
function findForeign(expression: string): string | undefined {
  const plain = makePlain(expression);
  for (const { 0: each, index } of expression.matchAll(escapes)) {
    if (/^\\(?:[aev]|x.{3})/.test(each)) return each;
    if (plain[index] === '[' && each in ofWords) return `[${each}]`;
  }
  return undefined;
}

// `(^|a|$){0,30}` keeps PostgreSQL busy for minutes, making the automaton; without a repetition of these, four take milliseconds.
const maxPlaces = 4;

/** What matches no character but a place: ^, \m … In brackets ^ is counted too. */
const countPlaces = (expression: string) => expression.match(/[$^]|\\[AZbBmMyY]|\[:[<>]:/g)?.length ?? 0;

/** The same in as many characters: letters for what is escaped, brackets for what stands in them, where nothing has its meaning. */
const makePlain = (expression: string) =>
  expression
    .replace(escapes, (each) => 'x'.repeat(each.length))
    // A bracket in first place stands for itself; a class such as [:alpha:] has brackets of its own.
    .replace(/\[\^?\]?(?:\[(?:[:.=].?[^\]]*(?:\]|$)|(?![:.=]))|[^[\]])*(?:\]|$)/gs, (brackets) => '['.repeat(brackets.length));
