/* Branches: lists of steps that begin alike. Going back keeps the future; another step there is a new branch.

     A  ●──●──●──●──●
              └──●──●     B, from step 2 of A                                                                  */

export const BRANCHES_MAX = 12;

/* Where two lists of steps part: the number of steps they share. */
export function parting(one, other) {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at += 1;
  return at;
}

const begins = (whole, part) => part.length <= whole.length && parting(whole, part) === part.length;

/* Branches after `steps` were taken (all of them, from the start): { branches, current }. */
export function taken(branches, current, steps) {
  if (begins(branches[current], steps)) return { branches, current };
  const known = branches.findIndex((one) => begins(one, steps));
  if (known >= 0) return { branches, current: known };
  const grows = begins(steps, branches[current]) ? current : branches.findIndex((one) => begins(steps, one) && one.length > 0);
  if (grows >= 0) return { branches: branches.map((one, at) => (at === grows ? steps : one)), current: grows };
  const room = branches.length < BRANCHES_MAX ? branches : branches.filter((_, at) => at !== (current === 0 ? 1 : 0));
  return { branches: [...room, steps], current: room.length };
}

/* For each branch the one it leaves, and where: the first of those that it shares most steps with. */
export function origins(branches) {
  return branches.map((steps, at) => {
    let from = -1, shared = 0;
    for (let before = 0; before < at; before += 1) {
      const here = parting(steps, branches[before]);
      if (here > shared || from < 0) [from, shared] = [before, here];
    }
    return { from, at: shared };
  });
}

export const letter = (number) => String.fromCharCode(65 + number);
