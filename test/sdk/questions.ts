/** Questions whose answers at temperature 0 are known of the embedded model, and what they are asked with. */
export const greeting = 'Hello! What is your name?';
export const introduction = "I'm Parley Mini, the small built-in model of Parley.";

export const weatherQuestion = 'What is the weather in Paris?';
export const weatherReport = '{"temperature": 21, "sky": "sunny"}';
export const offTopic = 'Tell me a joke.';

const city = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const, description: 'the city' } },
  required: ['city' as const],
};

export const weather = { name: 'get_weather', description: 'Get the current weather in a city', parameters: city };
export const clock = { name: 'get_time', description: 'Get the current time in a city', parameters: city };

export const personQuestion = 'Give me a person with name and age as JSON.';
export const personSchema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

/** Far more tokens than any test waits for; the fields that only this server knows keep the model from ending it. */
export const longStory = 'Tell me a long story about a dog.';
export const longStoryTokens = 1600;
export const neverEnding: object = { ban_eos_token: true };

/** About one token for each word. */
export const words = (count: number): string => 'word '.repeat(count).trimEnd();
