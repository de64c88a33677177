// What the interface takes as a regular expression of PostgreSQL's.
import * as v from 'valibot';

/**
 * D1.10: a regular expression of PostgreSQL. No directives and no back-references; those that can't be cut off (embedded
 * database) stay short, without a repetition inside a repetition, and need few states.
 */
export const regexp = (canBeCutOff: boolean) => {
  const length = canBeCutOff ? 128 : 64;
  const allowed = `ein regulärer Ausdruck mit höchstens ${length} Zeichen ohne (?…), ***, Rückverweise${canBeCutOff ? '' : `, verschachtelte Wiederholungen, mehr als ${uncut.places} von ^ $ \\m \\y … und mehr als ${uncut.copies} Wiederholungen durch {…}`}`;
  return v.pipe(
    v.string(),
    v.normalize('NFC'),
    v.minLength(1, allowed),
    v.metadata({ maxLength: length, examples: ['^amsel'] }),
    v.check((value) => [...value].length <= length, allowed),
    v.check((value) => {
      const found = inspectRegexp(value);
      if (found.directive || found.backReference) return false;
      return canBeCutOff || (!found.nestedRepetition && found.copies <= uncut.copies && found.places <= uncut.places);
    }, allowed),
  );
};

/** What PostgreSQL makes into an automaton in a third of a second at most. Found by trying out. */
const uncut = { copies: 30, places: 4 };

interface RegexpFeatures {
  directive: boolean;
  backReference: boolean;
  nestedRepetition: boolean;
  /** By how many characters and classes it grows when what stands before braces is written out as often as these say. */
  copies: number;
  /** What matches no character but a place: ^, \m … */
  places: number;
}

function inspectRegexp(expression: string): RegexpFeatures {
  const found = { directive: expression.startsWith('***'), backReference: false, nestedRepetition: false, places: 0, copies: 0 };
  // Of each open group: whether it holds a repetition, and its size. What may be left out is one, `x?` as well as `(x|)`: forty times eight of
  // them took two seconds. So is what matches a place: of `(^|a|$){0,255}` PostgreSQL made the automaton for minutes.
  const whole = { repeats: false, size: 0 };
  const groups = [whole];
  let group = whole;
  let inBrackets = false;
  let closedGroup = false;
  // Size of what a repetition would repeat.
  let last = 0;
  // Whether a group or a branch has just begun.
  let isEmpty = true;
  const add = (size: number) => {
    last = size;
    group.size += size;
  };
  const addPlace = () => {
    group.repeats = true;
    found.places++;
  };
  for (let at = 0; at < expression.length; at++) {
    const char = expression[at] ?? '';
    const following = expression[at + 1] ?? '';
    if (char === '\\') {
      if (!inBrackets) {
        add(1);
        if (/[1-9]/.test(following)) found.backReference = true;
        if (/[AZmMyY]/.test(following)) addPlace();
      }
      // `\cX` is one character, also where X is a bracket: taken for the beginning of one, it hid all that came behind it.
      at += following === 'c' ? 2 : 1;
      closedGroup = false;
      isEmpty = false;
      continue;
    }
    if (inBrackets) {
      // a class such as [:alpha:] has a bracket of its own
      if (/^\[:[<>]:/.test(expression.slice(at, at + 4))) addPlace();
      if (char === '[' && /[:.=]/.test(following)) at = Math.max(at, expression.indexOf(`${following}]`, at + 2) + 1);
      else if (char === ']') inBrackets = false;
      continue;
    }
    if (char === ')' && groups.length > 1) {
      const { repeats, size } = groups.pop() ?? whole;
      group = groups.at(-1) ?? whole;
      closedGroup = repeats || isEmpty;
      group.repeats ||= closedGroup;
      add(size);
      isEmpty = false;
      continue;
    }
    // What else begins with a brace stands for itself, or is an error of PostgreSQL's.
    const braces = char === '{' && /^\{(\d+)(?:,(\d*))?\}/.exec(expression.slice(at));
    if (char === '(') {
      if (following === '?') found.directive = true;
      group = { repeats: false, size: 0 };
      groups.push(group);
    } else if (char === '|') {
      group.repeats ||= isEmpty;
    } else if (/[*+?]/.test(char) || braces) {
      if (closedGroup) found.nestedRepetition = true;
      group.repeats = true;
      if (braces) {
        const [written, least = '', most = ''] = braces;
        const copies = last * Math.max(0, Number(least) - 1, Number(most) - 1);
        found.copies += copies;
        group.size += copies;
        at += written.length - 1;
      }
    } else {
      add(1);
      if (char === '^' || char === '$') addPlace();
      if (char === '[') {
        inBrackets = true;
        if (following === '^') at++;
        // a bracket in first place is an ordinary character
        if (expression[at + 1] === ']') at++;
      }
    }
    closedGroup = false;
    isEmpty = char === '(' || char === '|';
  }
  return found;
}
