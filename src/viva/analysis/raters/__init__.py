"""Agreement of raters: coefficients with intervals, and scores predicted from judges and a few experts."""
