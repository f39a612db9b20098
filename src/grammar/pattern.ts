import { type Characters, complement } from '../patterns/characters.ts';
import { PatternError, type PatternNode, parsePattern as parseExpression } from '../patterns/parse.ts';

/** The texts that a regular expression describes, without groups, anchors and spelling. */
export type Pattern =
  | { readonly type: 'set'; readonly set: Characters }
  | { readonly type: 'sequence'; readonly items: readonly Pattern[] }
  | { readonly type: 'choice'; readonly options: readonly Pattern[] }
  | { readonly type: 'repeat'; readonly item: Pattern; readonly minimum: number; readonly maximum: number | undefined };

const everything: Characters = complement([]);
const anything: Pattern = { type: 'repeat', item: { type: 'set', set: everything }, minimum: 0, maximum: undefined };

/**
 * Reads a useful part of the regular expressions of JavaScript: literals, classes, groups, choices, quantifiers, the dot
 * and anchors at the ends. Without an anchor anything may stand before or behind, as JSON Schema has it.
 */
export function parsePattern(source: string): Pattern {
  const whole = parseExpression(source);
  const options = whole.type === 'choice' ? whole.options : [whole];
  const texts = options.map(anchored);
  return texts.length === 1 ? (texts[0] as Pattern) : { type: 'choice', options: texts };
}

/** One of the outermost choices. */
function anchored(option: PatternNode): Pattern {
  const items = option.type === 'sequence' ? [...option.items] : [option];
  const before = items[0]?.type === 'start' ? items.splice(0, 1).length > 0 : false;
  const behind = items.at(-1)?.type === 'end' ? items.splice(-1).length > 0 : false;
  return {
    type: 'sequence',
    items: [...(before ? [] : [anything]), ...items.map(textsOf), ...(behind ? [] : [anything])],
  };
}

function textsOf(node: PatternNode): Pattern {
  switch (node.type) {
    case 'set':
      return node;
    case 'sequence':
      return { type: 'sequence', items: node.items.map(textsOf) };
    case 'choice':
      return { type: 'choice', options: node.options.map(textsOf) };
    case 'group':
      return textsOf(node.item);
    case 'repeat':
      // A lazy quantifier finds another match first but describes the same texts.
      return { type: 'repeat', item: textsOf(node.item), minimum: node.minimum, maximum: node.maximum };
    default:
      throw new PatternError(
        `the pattern uses ${node.type === 'boundary' ? 'a word boundary' : 'an anchor in the middle'}, which is not supported here`,
      );
  }
}
