import { texts } from './scenario-texts.ts';
import { newEntry, newPassage, newStory, type Passage, type Story } from './story.ts';

export interface Scenario {
  readonly title: string;
  readonly text: string;
  readonly make: (id: () => string, now: number) => Story;
}

function scenario(
  [title, text]: readonly [title: string, text: string],
  fields: Partial<Story>,
  opening: readonly [by: Passage['by'], text: string],
  world: readonly (readonly [comment: string, keys: readonly string[], content: string])[] = [],
): Scenario {
  const make = (id: () => string, changed: number): Story =>
    newStory({
      ...fields,
      title,
      id: id(),
      changed,
      world: world.map(([comment, keys, content]) => newEntry({ id: id(), comment, keys, content })),
      passages: [newPassage(id(), ...opening)],
    });
  return { title, text, make };
}

/** Built-in scenarios. */
export const scenarios: readonly Scenario[] = [
  scenario(
    texts.lighthouse,
    {
      mode: 'story',
      memory:
        'A quiet, slightly uncanny story in the past tense, told close to Maren, who keeps the lighthouse of Hollow Point alone.',
      note: { text: 'slow, exact, full of weather', template: "[Author's note: <|>]", depth: 320 },
    },
    [
      'person',
      'On the last night of October the lamp at Hollow Point went out, and Maren, who had been asleep on her feet for the better part of an hour, woke because of the dark.\n\nShe had never heard the tower so quiet. There was oil; she had filled the tank herself at noon. There was no wind to speak of. She put her hand flat on the glass and found it cold, as if it had been out since morning, and it was then that she saw the other light, low on the water, where there was neither a ship nor a rock for one to break on.\n\n',
    ],
    [
      [
        'The sister',
        ['Edda', 'sister'],
        "Edda is Maren's sister. She rowed out nine winters ago to look at a light in the fog, and only the boat came back.",
      ],
      [
        'The place',
        ['Hollow Point', 'lighthouse'],
        'Hollow Point is a lighthouse on a rock two miles off the coast. Its lamp has not been dark for a single night in a hundred years.',
      ],
    ],
  ),
  scenario(
    texts.archive,
    {
      mode: 'adventure',
      memory:
        'An adventure in the second person. You are a mapmaker who looks for the flooded archive below the old city. You carry a lantern, a coil of rope, a stub of charcoal and a map with a hole burnt in its middle.',
    },
    [
      'model',
      'The grate gives way on the third pull, and cold air comes up out of the dark. It smells of wet paper. Somewhere below, water is running over steps.\n\nYour lantern shows the first turn of a stair, worn hollow in the middle by people who have been dead for a long time. On the wall, in fresh chalk, somebody has drawn an arrow. It points back the way you came.',
    ],
    [
      [
        'The archive',
        ['archive', 'books'],
        'The archive was flooded on purpose, forty years ago, to keep one book from being read.',
      ],
    ],
  ),
  scenario(
    texts.clockmaker,
    {
      mode: 'chat',
      them: 'Ottilie',
      memory:
        'Ottilie is a clockmaker of seventy in a narrow shop. She is dry, warm and curious, speaks in short sentences, and answers questions about time with stories about people. She never says how she came by the clock that runs backwards.',
    },
    [
      'model',
      'Mind the step, it is older than I am. Sit down; the kettle has just boiled. Now, which of your clocks has been lying to you?',
    ],
  ),
  scenario(
    texts.editor,
    {
      mode: 'instruct',
      memory:
        "You are a careful editor. You name the weakest sentence first, say why in one line, and then give a tighter version of the whole paragraph in the author's own voice.",
    },
    [
      'person',
      'Please edit this: "It was a dark night and the rain was falling down very heavily on the roof of the house in which she was living at that time, and she was suddenly feeling afraid of something."',
    ],
  ),
];
