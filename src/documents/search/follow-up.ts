/** Words by which a question refers to what was said before. */
const references = new Set(
  (
    'it its they them their this that these those he him his she her there then one ones same else also more former latter ' +
    'er sie es ihn ihm ihr ihre sein seine dies diese dieser dieses das dessen deren dort davon dazu damit dabei darin darüber welche ' +
    'il elle ils elles lui leur cela ça ceci celui celle ceux y en ' +
    'él ella ello ellos ellas esto eso este esta estos estas allí'
  ).split(' '),
);
/** Beginnings of a question that goes on. */
const continues =
  /^(?:and|but|so|what about|how about|why(?: not)?\W*$|und|aber|was ist mit|wie ist es|warum\W*$|et|mais|y|pero)\b/i;
const words = /[\p{L}\p{N}]+/gu;
/** Of an earlier message. */
const maxContext = 300;
const fewWords = 3;
const maxEarlier = 8;

/**
 * The text to search for a message of a conversation. A follow-up question (it is short, or refers to something) names its subject in an
 * earlier message, which is put before it; other messages are searched as they are. `conversation` has the earlier messages of the user, the newest last.
 */
export function completedQuery(query: string, conversation: readonly string[]): string {
  const earlier = conversation.slice(-maxEarlier).filter((text) => text.trim() !== '' && text.trim() !== query.trim());
  const all = query.toLowerCase().match(words) ?? [];
  const refers = all.length <= 12 && all.some((word) => references.has(word));
  if (!refers && all.length > fewWords && !continues.test(query.trim())) return query;
  const last = earlier.at(-1);
  if (last === undefined) return query;
  // The message before may be a follow-up question itself.
  const subject = completedQuery(last, earlier.slice(0, -1)).replace(/\s+/g, ' ').trim();
  return `${subject.length > maxContext ? subject.slice(-maxContext) : subject} ${query}`;
}
