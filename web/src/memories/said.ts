import { locale } from '../languages/index.ts';

/** How people ask for something to be remembered, in each language of the pages. */
const requests: readonly RegExp[] = [
  /^(?:please\s+|and\s+)?(?:remember|keep in mind|don['’]t forget|note)\s+that\s+(.{3,400})$/i,
  /^(?:bitte\s+)?(?:merk|merke)\s+dir(?:\s+bitte)?,?\s+(?:dass\s+)?(.{3,400})$/i,
  /^(?:souviens-toi|rappelle-toi|retiens|retenez)\s+(?:que\s+|qu['’])(.{3,400})$/i,
  /^(?:por favor,?\s+)?(?:recuerda|recuerde|acuérdate de)\s+que\s+(.{3,400})$/i,
  /^(?:per favore,?\s+)?(?:ricorda|ricordati)\s+che\s+(.{3,400})$/i,
  /^(?:proszę,?\s+)?(?:zapamiętaj|pamiętaj),?\s+że\s+(.{3,400})$/i,
  /^(?:por favor,?\s+)?lembr(?:e|a)(?:-se|-te)?\s+(?:de\s+)?que\s+(.{3,400})$/i,
  /^(?:lütfen\s+)?şunu\s+(?:hatırla|unutma):?\s+(.{3,400})$/i,
  /^(?:пожалуйста,?\s+)?запомни(?:те)?,?\s+что\s+(.{3,400})$/i,
  /^(?:будь ласка,?\s+)?запам['’ʼ]ятай(?:те)?,?\s+що\s+(.{3,400})$/i,
  // A pronoun is part of the word "that", which then stays.
  /^(?:من فضلك،?\s+)?تذك\p{M}*ر\p{M}*ي?\s+(?=أن)(?:أن\p{M}*\s+)?(.{3,400})$/u,
  /^(?:कृपया\s+)?याद\s+(?:रखो|रखें|रखना|रखिए|रखिएगा)\s+कि\s+(.{3,400})$/,
  /^(.{3,400}?)(?:(?:という)?ことを|を|って)覚えて(?:おいて)?(?:ください|下さい|ね)?[。.!！]?$/,
  /^(.{3,400}?)(?:(?:라는|(?<=다)는)\s*(?:것을|걸|사실을|점을)|을|를)\s*기억해\s*(?:줘|줘요|주세요|둬|두세요|요)?[.!]?$/,
  // "Remembered" is the same word with 了.
  /^(?:请|請)?(?:帮我|幫我)?(?:记住|記住)(?!了)[，,：:]?\s*(.{3,400})$/,
];

/** What a message asks to remember, as it was said; undefined if it asks for nothing. */
export function factIn(message: string): string | undefined {
  for (const sentence of message.normalize().split(/\n+|(?<=[.!?।؟])\s+|(?<=[。！？])/)) {
    for (const request of requests) {
      const fact = request.exec(sentence.trim())?.[1]?.trim();
      if (fact && !/[?？؟]$/.test(fact)) return fact[0]?.toLocaleUpperCase(locale) + fact.slice(1);
    }
  }
  return undefined;
}
