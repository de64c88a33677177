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
    v.check((value) => {
      const plain = makePlain(value);
      if (value.startsWith('***') || /\(\?|\\[1-9]/.test(plain)) return false;
      return canBeCutOff || (!/\{|\)[*+?]/.test(plain) && countPlaces(value) <= maxPlaces);
    }, allowed),
  );
};

// `(^|a|$){0,30}` keeps PostgreSQL busy for minutes, making the automaton; without a repetition of these, four take milliseconds.
const maxPlaces = 4;

/** What matches no character but a place: ^, \m … In brackets ^ is counted too. */
const countPlaces = (expression: string) => expression.match(/[$^]|\\[AZmMyY]|\[:[<>]:/g)?.length ?? 0;

/** The same with a letter for each escaped character and for each pair of brackets, in which nothing has its meaning. */
const makePlain = (expression: string) =>
  expression
    // `\cX` is one character, also where X is a bracket.
    .replace(/\\(?:c.|[^1-9])/gsu, 'x')
    // A bracket in first place stands for itself; a class such as [:alpha:] has brackets of its own.
    .replace(/\[\^?\]?(?:\[(?:[:.=].?[^\]]*(?:\]|$)|(?![:.=]))|[^[\]])*(?:\]|$)/gs, 'x');
