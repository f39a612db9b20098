/** How people ask for something to be remembered. */
const requests: readonly RegExp[] = [
  /^(?:please\s+|and\s+)?(?:remember|keep in mind|don['’]t forget|note)\s+that\s+(.{3,400})$/i,
  /^(?:bitte\s+)?(?:merk|merke)\s+dir(?:\s+bitte)?,?\s+(?:dass\s+)?(.{3,400})$/i,
  /^(?:souviens-toi|rappelle-toi|retiens)\s+que\s+(.{3,400})$/i,
  /^(?:recuerda|acuérdate de)\s+que\s+(.{3,400})$/i,
  /^(?:ricorda|ricordati)\s+che\s+(.{3,400})$/i,
];

/** What a message asks to remember, as it was said; undefined if it asks for nothing. */
export function factIn(message: string): string | undefined {
  for (const sentence of message.split(/\n+|(?<=[.!?])\s+/)) {
    for (const request of requests) {
      const fact = request.exec(sentence.trim())?.[1]?.trim();
      if (fact && !fact.endsWith('?')) return fact[0]?.toUpperCase() + fact.slice(1);
    }
  }
  return undefined;
}
