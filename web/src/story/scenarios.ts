import { newEntry, newPassage, newStory, type Story } from './story.ts';

export interface Scenario {
  readonly title: string;
  readonly text: string;
  readonly make: (id: () => string, now: number) => Story;
}

/** Built-in scenarios. */
export const scenarios: readonly Scenario[] = [
  {
    title: 'The lamp that went out',
    text: 'Story: a lighthouse keeper sees a light on the water.',
    make: (id, changed) =>
      newStory({
        id: id(),
        changed,
        title: 'The lamp that went out',
        mode: 'story',
        memory:
          'A quiet, slightly uncanny story in the past tense, told close to Maren, who keeps the lighthouse of Hollow Point alone.',
        note: { text: 'slow, exact, full of weather', template: "[Author's note: <|>]", depth: 320 },
        world: [
          newEntry({
            id: id(),
            keys: ['Edda', 'sister'],
            content:
              "Edda is Maren's sister. She rowed out nine winters ago to look at a light in the fog, and only the boat came back.",
            comment: 'The sister',
          }),
          newEntry({
            id: id(),
            keys: ['Hollow Point', 'lighthouse'],
            content:
              'Hollow Point is a lighthouse on a rock two miles off the coast. Its lamp has not been dark for a single night in a hundred years.',
            comment: 'The place',
          }),
        ],
        passages: [
          newPassage(
            id(),
            'person',
            'On the last night of October the lamp at Hollow Point went out, and Maren, who had been asleep on her feet for the better part of an hour, woke because of the dark.\n\nShe had never heard the tower so quiet. There was oil; she had filled the tank herself at noon. There was no wind to speak of. She put her hand flat on the glass and found it cold, as if it had been out since morning, and it was then that she saw the other light, low on the water, where there was neither a ship nor a rock for one to break on.\n\n',
          ),
        ],
      }),
  },
  {
    title: 'Below the city',
    text: 'Adventure: find the flooded archive below the city in one night.',
    make: (id, changed) =>
      newStory({
        id: id(),
        changed,
        title: 'Below the city',
        mode: 'adventure',
        memory:
          'An adventure in the second person. You are a mapmaker who looks for the flooded archive below the old city. You carry a lantern, a coil of rope, a stub of charcoal and a map with a hole burnt in its middle.',
        world: [
          newEntry({
            id: id(),
            keys: ['archive', 'books'],
            content: 'The archive was flooded on purpose, forty years ago, to keep one book from being read.',
            comment: 'The archive',
          }),
        ],
        passages: [
          newPassage(
            id(),
            'model',
            'The grate gives way on the third pull, and cold air comes up out of the dark. It smells of wet paper. Somewhere below, water is running over steps.\n\nYour lantern shows the first turn of a stair, worn hollow in the middle by people who have been dead for a long time. On the wall, in fresh chalk, somebody has drawn an arrow. It points back the way you came.',
          ),
        ],
      }),
  },
  {
    title: 'Tea with the clockmaker',
    text: 'Character: chat with Ottilie, who repairs clocks.',
    make: (id, changed) =>
      newStory({
        id: id(),
        changed,
        title: 'Tea with the clockmaker',
        mode: 'chat',
        them: 'Ottilie',
        memory:
          'Ottilie is a clockmaker of seventy in a narrow shop. She is dry, warm and curious, speaks in short sentences, and answers questions about time with stories about people. She never says how she came by the clock that runs backwards.',
        passages: [
          newPassage(
            id(),
            'model',
            'Mind the step, it is older than I am. Sit down; the kettle has just boiled. Now, which of your clocks has been lying to you?',
          ),
        ],
      }),
  },
  {
    title: 'A second pair of eyes',
    text: 'Instruct: paste a paragraph and get edits.',
    make: (id, changed) =>
      newStory({
        id: id(),
        changed,
        title: 'A second pair of eyes',
        mode: 'instruct',
        memory:
          "You are a careful editor. You name the weakest sentence first, say why in one line, and then give a tighter version of the whole paragraph in the author's own voice.",
        passages: [
          newPassage(
            id(),
            'person',
            'Please edit this: "It was a dark night and the rain was falling down very heavily on the roof of the house in which she was living at that time, and she was suddenly feeling afraid of something."',
          ),
        ],
      }),
  },
];
