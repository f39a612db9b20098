/** Sentences that mean nearly the same, in other words. */
export const similar: readonly (readonly [string, string])[] = [
  ['How do I reset my password?', 'I forgot my password and need a new one.'],
  ['The cat is sleeping on the sofa.', 'A cat naps on the couch.'],
  ['It is raining heavily in London today.', 'London has heavy rain today.'],
  ['A man is playing the guitar on stage.', 'A musician performs with his guitar for an audience.'],
  ['The company reported higher profits this quarter.', 'Quarterly earnings of the firm went up.'],
  ['She bought a new car last week.', 'Last week she purchased a new automobile.'],
  ['The train to Berlin is delayed by an hour.', 'The Berlin train will be one hour late.'],
  ['Add two cups of flour and stir the dough.', 'Mix two cups of flour into the batter.'],
  ['The children are playing football in the park.', 'Kids play soccer in the park.'],
  ['Doctors recommend drinking enough water.', 'Physicians advise people to stay hydrated with water.'],
  ['The program crashes when I open a large file.', 'Opening big files makes the application crash.'],
  ['The museum is closed on Mondays.', 'You cannot visit the museum on Monday because it is closed.'],
  ['He finished the marathon in under four hours.', 'He ran the marathon in less than four hours.'],
  ['The moon orbits the earth.', 'Our moon circles around planet earth.'],
  ['The hotel room was clean and quiet.', 'Our room in the hotel was quiet and very clean.'],
];

/** Sentences that have nothing to do with each other. */
export const dissimilar: readonly (readonly [string, string])[] = [
  ['How do I reset my password?', 'The moon orbits the earth.'],
  ['The cat is sleeping on the sofa.', 'Quarterly earnings of the firm went up.'],
  ['It is raining heavily in London today.', 'Mix two cups of flour into the batter.'],
  ['A man is playing the guitar on stage.', 'The Berlin train will be one hour late.'],
  ['The company reported higher profits this quarter.', 'Kids play soccer in the park.'],
  ['She bought a new car last week.', 'The museum is closed on Mondays.'],
  ['The train to Berlin is delayed by an hour.', 'Physicians advise people to stay hydrated with water.'],
  ['Add two cups of flour and stir the dough.', 'Opening big files makes the application crash.'],
  ['The children are playing football in the park.', 'I forgot my password and need a new one.'],
  ['Doctors recommend drinking enough water.', 'A musician performs with his guitar for an audience.'],
  ['The program crashes when I open a large file.', 'Our room in the hotel was quiet and very clean.'],
  ['The museum is closed on Mondays.', 'He ran the marathon in less than four hours.'],
  ['He finished the marathon in under four hours.', 'A cat naps on the couch.'],
  ['The moon orbits the earth.', 'Last week she purchased a new automobile.'],
  ['The hotel room was clean and quiet.', 'London has heavy rain today.'],
];
