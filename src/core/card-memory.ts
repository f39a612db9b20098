/** Memory of a graphics card, as the backend of an engine reports it. */
export interface CardMemory {
  /** `CUDA0`, `Vulkan1` */
  readonly name: string;
  readonly description: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** With the part of it that a loaded model has taken. */
export interface CardUse extends CardMemory {
  readonly heldBytes: number;
}

/** What a model will take of cards: of those that its flags name, or of all. */
export interface CardNeed {
  readonly bytes: number;
  /** Names or numbers; none means all cards. */
  readonly devices: readonly string[];
}

/** The cards that are named, by name or by number, in the order of the cards; all without names. */
export function namedCards<Card extends { readonly name: string }>(
  cards: readonly Card[],
  devices: readonly string[],
): readonly Card[] {
  if (devices.length === 0) return cards;
  const wanted = devices.map((device) => device.toLowerCase());
  return cards.filter(({ name }, index) => wanted.includes(name.toLowerCase()) || wanted.includes(String(index)));
}
